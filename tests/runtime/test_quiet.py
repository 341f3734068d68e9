"""What LiteRT writes to stderr: notices are left out, everything else appears."""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from tflgpu.runtime.quiet import without_notices


def test_notices_are_left_out(capfd: pytest.CaptureFixture[str]) -> None:
    with without_notices():
        os.write(2, b"INFO: Created a delegate.\nWARNING: odd\nINFO: more\nERROR: bad\n")
    os.write(2, b"INFO: after\n")
    assert capfd.readouterr().err == "WARNING: odd\nERROR: bad\nINFO: after\n"


def test_errors_appear_although_the_block_fails(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), without_notices():
        os.write(2, b"ERROR: bad\n")
        raise ZeroDivisionError
    assert capfd.readouterr().err == "ERROR: bad\n"


def test_what_several_threads_print_is_kept(capfd: pytest.CaptureFixture[str]) -> None:
    def write(number: int) -> None:
        with without_notices():
            os.write(2, b"INFO: notice\nERROR: %d\n" % number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(20)))
    os.write(2, b"the end\n")
    lines = capfd.readouterr().err.splitlines()
    assert sorted(lines[:-1]) == sorted(f"ERROR: {n}" for n in range(20))
    assert lines[-1] == "the end"
