"""What jinja2 compiled is kept for other processes, and nothing else is taken for it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import jinja2
import pytest

from tflgpu.compiler.codegen.rendering import kept_templates
from tflgpu.compiler.codegen.rendering.environment import environment

NAMES = ("move/concat.jinja", "reduce/join_totals.jinja")


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the templates are kept, which is not there yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "tflgpu" / "templates"


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What a new process compiles of `NAMES`."""
    names: list[str] = []
    without = environment.__wrapped__()
    without.bytecode_cache = None
    codes = [without.get_template(name).root_render_func.__code__ for name in NAMES]
    compile = jinja2.Environment.compile

    def noted(self: jinja2.Environment, source: str, name: str, *rest: object) -> object:
        names.append(name)
        return compile(self, source, name, *rest)  # type: ignore[call-overload]

    monkeypatch.setattr(jinja2.Environment, "compile", noted)

    def load() -> list[str]:
        names.clear()
        found = [environment.__wrapped__().get_template(name) for name in NAMES]
        assert [each.root_render_func.__code__ for each in found] == codes
        return [*names]

    return load


def test_templates_are_compiled_once(folder: Path, compiled: Callable[[], list[str]]) -> None:
    assert compiled() == [*NAMES]
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600, 0o600]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert compiled() == []


@pytest.mark.parametrize("changed", ["compiler_version", "version"])
def test_other_versions_compile_again(
    folder: Path, compiled: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    """Of this compiler and of jinja2."""
    compiled()
    with monkeypatch.context() as other:
        other.setattr(kept_templates, changed, lambda *_: "another")
        assert compiled() == [*NAMES]
        assert compiled() == []
    assert compiled() == [*NAMES]
    assert len([*folder.iterdir()]) == len(NAMES)


def test_other_pythons_compile_again(
    folder: Path, compiled: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()
    monkeypatch.setattr(sys, "version", "3.99 (another build)")
    assert compiled() == [*NAMES]
    assert compiled() == []


def test_damaged_files_are_replaced(folder: Path, compiled: Callable[[], list[str]]) -> None:
    compiled()
    for path in folder.iterdir():
        whole = path.read_bytes()
        for damaged in (
            b"",
            whole[:40],
            whole[:-1],
            bytes([*whole[:-9], whole[-9] ^ 1, *whole[-8:]]),
        ):
            path.write_bytes(damaged)
            assert len(compiled()) == 1
            assert path.read_bytes() == whole


def test_one_template_is_not_taken_for_another(
    folder: Path, compiled: Callable[[], list[str]]
) -> None:
    compiled()
    one, other = folder.iterdir()
    one.write_bytes(other.read_bytes())
    assert len(compiled()) == 1


@pytest.mark.skipif(os.name != "posix", reason="only POSIX has modes of files")
def test_what_others_can_change_is_not_taken(
    folder: Path, compiled: Callable[[], list[str]]
) -> None:
    compiled()
    folder.chmod(0o770)
    assert compiled() == [*NAMES]
    folder.chmod(0o700)
    assert compiled() == []
    for path in folder.iterdir():
        path.chmod(0o620)
    assert compiled() == [*NAMES]
    moved = folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(moved)
    assert compiled() == [*NAMES]


def test_nothing_can_be_kept(folder: Path, compiled: Callable[[], list[str]]) -> None:
    folder.parent.write_text("a file")
    assert compiled() == [*NAMES]
    assert compiled() == [*NAMES]
