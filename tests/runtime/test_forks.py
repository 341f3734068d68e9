"""Processes forked from one that has started drivers."""

import subprocess
import sys
from pathlib import Path

import pytest
from devices import Attached
from paths import TESTS
from plans import chain
from platforms import linux

pytestmark = pytest.mark.shared

SECONDS_TO_END = 60

# A program of two processes.
USES = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from plans import check, pair
import tflgpu

folder, device = {folder!r}, {device!r}

def refusal(use):
    try:
        use()
    except tflgpu.DeviceError as error:
        return str(error)
    return "nothing was refused"

{before}
if not os.fork():
    signal.alarm({seconds})
    {inside}
    sys.stdout.flush()
    os._exit(0)
os.wait()
{after}
"""
SESSION = """
session = tflgpu.load(folder, device=device)
a, b = pair()
bound = session.bind({"a": a, "b": b})
run = bound.submit()
"""
REFUSALS = """
    print(refusal(lambda: session.run([a, b])))
    print(refusal(bound.run))
    print(refusal(run.wait))
    print(refusal(lambda: run.done))
    print(refusal(lambda: tflgpu.load(folder, device=device)))
    print(refusal(tflgpu.devices))
    bound.close()
    session.close()
    del run, bound, session
"""


def forked(before: str, inside: str, after: str, folder: Path, device: str) -> list[str]:
    """What two processes print, the second of which is forked by the first, line by line."""
    program = USES.format(
        tests=str(TESTS),
        folder=str(folder),
        device=device,
        before=before,
        inside=inside.strip(),
        after=after,
        seconds=SECONDS_TO_END,
    )
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout.splitlines()


@linux
def test_a_forked_process_is_told(tmp_path: Path, attached: Attached) -> None:
    """All uses of what was loaded before, and a new load, are refused; the parent goes on."""
    folder = chain(target=attached.target).write(tmp_path)
    after = "run.wait(); session.run([a, b]); print('went on')"
    *lines, last = forked(SESSION, REFUSALS, after, folder, attached.device)
    assert last == "went on"
    loaded, started = "this session was loaded in process", "the drivers were started in process"
    assert [line.startswith(loaded) for line in lines] == [True] * 4 + [False] * 2
    assert [line.startswith(started) for line in lines] == [False] * 4 + [True] * 2
    for line in lines:
        assert 'use the spawn start method, as in multiprocessing.get_context("spawn")' in line


@linux
def test_a_load_after_a_fork_alone_works(tmp_path: Path, attached: Attached) -> None:
    """Nothing is lost by importing tflgpu, and reading a plan, before the fork."""
    folder = chain(target=attached.target).write(tmp_path)
    inside = "check(folder, device); print('ran')"
    assert forked("", inside, "", folder, attached.device) == ["ran"]
