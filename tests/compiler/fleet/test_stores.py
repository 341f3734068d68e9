"""A matrix compiled into a store: the same bytes as in a folder, signed, and once."""

import os
from contextlib import suppress
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest
from commands import as_json, invoke, started
from paths import ROOT
from platforms import linux
from saved_rows import SAVES, save_rows
from servers import make_key

import tflgpu
from tflgpu.compiler.fleet.api import place
from tflgpu.runtime.remote.keys import Trusted
from tflgpu.runtime.remote.published import entries
from tflgpu.runtime.remote.store import Store

DIGITS = ROOT / "samples" / "digits" / "digits.tflite"
DEVICES = ("gpu", "mali")


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def at_a_terminal(answer: str, *arguments: object) -> tuple[int, str]:
    """The exit code of a command that is asked on a terminal, and all that this shows."""
    here, terminal = os.openpty()
    ends = dict.fromkeys(("stdin", "stdout", "stderr"), terminal)
    process = started(*arguments, **ends, start_new_session=True)
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the end, when nobody has the terminal open
        while more := os.read(here, 1 << 16):
            shown += more
            if answer and b"Passphrase of" in shown:
                os.write(here, f"{answer}\n".encode())
                answer = ""
    os.close(here)
    return process.wait(), shown.decode()


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "store").as_uri()


def test_the_bytes_are_those_of_a_folder(url: str, tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    results = list(tflgpu.compile_many([DIGITS], url, devices=DEVICES, sign=key))
    assert [result.status for result in results] == ["compiled", "compiled"]
    trusted = Trusted(key.with_suffix(".pub"))
    by_name = sorted(results, key=lambda each: each.variant)
    for result, entry in zip(by_name, entries(Store(url)), strict=True):
        assert result.path == f"{url}/{entry.path}"
        assert entry.publication and trusted.objection(entry.publication) is None
        folder = tflgpu.compile(DIGITS, tmp_path / "cache", device=result.task.options.device)
        assert contents(tmp_path / "store" / entry.publication.files) == contents(folder)


def test_a_second_run_compiles_what_is_missing_or_unsigned(url: str, tmp_path: Path) -> None:
    def statuses(sign: str | Path = "", devices: tuple[str, ...] = DEVICES) -> list[str]:
        found = tflgpu.compile_many([DIGITS], url, devices=devices, sign=sign)
        return sorted(result.status for result in found)

    assert statuses(devices=("gpu",)) == ["compiled"]
    assert statuses() == ["compiled", "present"]
    assert statuses() == ["present", "present"]
    key = make_key(tmp_path / "key")
    assert statuses(key) == ["compiled", "compiled"]
    assert statuses(key) == statuses() == ["present", "present"]
    plan = next((tmp_path / "store").glob("*/*/files-*/weights.bin"))
    for path in plan.parents[1].glob("files-*/weights.bin"):
        path.unlink()
    assert statuses() == ["compiled", "present"]


def test_commands_take_a_store(url: str, tmp_path: Path) -> None:
    key = make_key(tmp_path / "key")
    command = ("compile", DIGITS, "-o", url, "--device", "gpu")
    assert invoke(*command, "--sign", key).stdout.splitlines()[-1].startswith(f"{url}/")
    found = as_json(*command, "--device", "mali", "--sign", key)
    assert found["manifest"] == f"{url}/rows"
    assert sorted(each["status"] for each in found["variants"]) == ["compiled", "present"]
    invoke("cache", "verify", url, "--trust", f"{key}.pub")
    wrong = invoke("compile", DIGITS, "-o", tmp_path / "x", "--sign", key, code=1)
    assert "only what goes to a URL is signed" in wrong.stderr
    for option in ("--tune", "--prebuild=auto"):
        invoke(*command, option, code=2)
    wrong = invoke("compile", DIGITS, "-o", "http://127.0.0.1:1/x", code=1)
    assert "http://127.0.0.1:1/x is for reading only" in wrong.stderr
    with pytest.raises(tflgpu.OptionError, match="is a URL, but `compile` writes a folder"):
        tflgpu.compile(DIGITS, url)


def test_the_start_of_a_run_removes_no_rows_of_others(url: str) -> None:
    save_rows(url, 0)
    before = Store(url).names("rows")
    place(url).add_rows(())
    assert set(before) < set(Store(url).names("rows"))
    assert len(place(url).read_rows()) == SAVES


RUNS = 4


@linux
def test_runs_at_once_lose_no_rows(url: str, server: ForkServerContext) -> None:
    """Nothing locks a store; and they rewrite the rows of each other when those are many."""
    runs = [server.Process(target=save_rows, args=(url, run)) for run in range(RUNS)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [run.exitcode for run in runs] == [0] * RUNS
    found = {each.model for each in place(url).read_rows()}
    assert found == {f"{run}.{number}" for run in range(RUNS) for number in range(SAVES)}
    assert len(Store(url).names("rows")) < RUNS * SAVES


@linux
def test_the_passphrase_of_a_key_is_asked_for_on_a_terminal(url: str, tmp_path: Path) -> None:
    key = make_key(tmp_path / "key", "some words")
    command = ("compile", DIGITS, "-o", url, "--device", "gpu", "--sign", key)
    code, shown = at_a_terminal("some words", *command)
    assert (code, "words" in shown) == (0, False), shown
    trusted = Trusted(key.with_suffix(".pub"))
    (entry,) = entries(Store(url))
    assert entry.publication is not None and trusted.objection(entry.publication) is None
    code, shown = at_a_terminal("other words", *command)
    assert (code, "words" in shown) == (1, False)
    assert f"that is not the passphrase of the key {key}" in " ".join(shown.split())
    message = invoke(*command, code=1).stderr
    assert f"the key {key} has a passphrase, and there is no terminal to ask for it" in message
