"""The guards behind buffers of processors, on which tests of kernels rely."""

import signal
import subprocess
import sys
from pathlib import Path

READS = """
from ctypes import string_at
from guards import before_a_fence
memory = before_a_fence(100)
start = memory.ctypes.data
print(memory.size, start % 64, string_at(start + 127, 1), flush=True)
string_at(start + 128, 1)
print("beyond")
"""


def test_a_process_ends_that_reads_behind_a_buffer() -> None:
    tests = Path(__file__).parents[1]
    ran = subprocess.run([sys.executable, "-c", READS], cwd=tests, capture_output=True, text=True)
    assert (ran.stdout, ran.returncode) == ("128 0 b'\\x00'\n", -signal.SIGSEGV), ran.stderr
