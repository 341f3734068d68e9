"""Every byte of a cache folder is checked when it is read, and who may have written it."""

import os
import shutil
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from devices import Attached
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import chain
from platforms import posix
from stored import FILES

from tflgpu.runtime import CacheWarning, PlanError, load
from tflgpu.runtime.cache.folder import find_variants
from tflgpu.runtime.cache.variant import read_variant
from tflgpu.runtime.plan.file import to_bytes


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A variant's folder that tests leave as they found it."""
    return chain().write(tmp_path_factory.mktemp("shared"))


@settings(deadline=None, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FILES), st.data())
def test_any_damage_is_noticed(shared: Path, file: str, data: st.DataObject) -> None:
    path = shared / file
    whole = path.read_bytes()
    length = data.draw(st.integers(0, len(whole)), "bytes left")
    content = bytearray(whole[:length])
    if length == len(whole):
        content[data.draw(st.integers(0, length - 1), "byte")] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        with pytest.raises(PlanError, match=path.name):
            read_variant(shared)
    finally:
        path.write_bytes(whole)
    assert read_variant(shared).plan == chain().plan


def test_damage_of_another_variant(folder: Path, attached: Attached) -> None:
    """The good one is loaded, with a warning; its permissions are as bad as any damage."""
    bad = chain(target=attached.target).write(folder.parents[1], "bad")
    match = rf"(?s){bad}.*; another variant of the model is used"

    def loads() -> None:
        with pytest.warns(CacheWarning, match=match):
            load(folder.parents[1], device=attached.device or "auto").close()

    bad.chmod(0o777)
    loads()
    bad.chmod(0o700)
    (bad / "plan.tflgpu").write_bytes(b"damage")
    loads()
    newer = replace(chain().plan, target="of a newer version")
    (bad / "plan.tflgpu").write_bytes(to_bytes(newer))
    loads()
    (bad / "plan.tflgpu").unlink()
    (bad / "plan.tflgpu").mkdir()
    loads()


@pytest.mark.parametrize("file", [*FILES, "kernels"])
def test_a_missing_file_is_named(cache: Path, file: str) -> None:
    folder = chain().write(cache)
    (folder / file).rename(folder / "gone")
    with pytest.raises(PlanError, match=f"cannot read .*{Path(file).name}: No such file"):
        read_variant(folder)


@posix
@pytest.mark.parametrize("file", [*FILES, "kernels"])
def test_links_are_not_followed(cache: Path, tmp_path: Path, file: str) -> None:
    folder = chain().write(cache)
    outside = tmp_path / "outside"
    (folder / file).rename(outside)
    (folder / file).symlink_to(outside)
    with pytest.raises(PlanError, match=f"{Path(file).name} is a symbolic link"):
        read_variant(folder)


@posix
@pytest.mark.parametrize("depth", [1, 2])
def test_a_linked_folder_is_refused(cache: Path, tmp_path: Path, depth: int) -> None:
    folder = chain().write(cache)
    inner = [folder, folder.parent][depth - 1]
    inner.rename(tmp_path / "outside")
    inner.symlink_to(tmp_path / "outside")
    with pytest.raises(PlanError, match="is a symbolic link"):
        load(cache)


@posix
def test_cache_itself_may_be_a_link(cache: Path, tmp_path: Path) -> None:
    folder = chain().write(cache)
    (tmp_path / "link").symlink_to(cache)
    assert find_variants(tmp_path / "link") == [folder.resolve()]
    shutil.rmtree(folder)
    chain().write(tmp_path / "link")
    assert find_variants(cache) == [folder.resolve()]


@posix
def test_pipe_is_refused(cache: Path) -> None:
    folder = chain().write(cache)
    (folder / "plan.tflgpu").unlink()
    os.mkfifo(folder / "plan.tflgpu", 0o600)
    with pytest.raises(PlanError, match=r"plan\.tflgpu is not a plain file"):
        read_variant(folder)


@posix
@pytest.mark.parametrize("file", ["", *FILES, "kernels"])
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_writable_by_others(cache: Path, file: str, mode: int) -> None:
    folder = chain().write(cache)
    (folder / file).chmod(mode)
    with pytest.raises(
        PlanError, match=r"can be written to by other users \(mode 7.*chmod -R go-w"
    ):
        read_variant(folder)


@posix
@pytest.mark.parametrize("depth", [0, 1])
def test_folders_that_others_can_change_are_refused(cache: Path, depth: int) -> None:
    folder = chain().write(cache)
    folder.parents[depth].chmod(0o777)
    with pytest.raises(PlanError, match="can be written to by other users"):
        load(cache)
    with pytest.raises(PlanError, match="can be written to by other users"):
        chain().write(cache)


@posix
def test_folder_of_another_user(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = chain().write(cache)
    owner = folder.stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:
        assert read_variant(folder).plan == chain().plan
        return
    with pytest.raises(PlanError, match=f"belongs to another user \\(id {owner}\\)"):
        read_variant(folder)


@posix
def test_owner_is_checked(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = chain().write(cache)
    lstat = os.lstat

    def of_others(path: Path) -> os.stat_result:
        status = list(lstat(path))
        status[stat.ST_UID] = 54321
        return os.stat_result(status)

    monkeypatch.setattr(os, "lstat", of_others)
    with pytest.raises(PlanError, match=r"belongs to another user \(id 54321\)"):
        read_variant(folder)
