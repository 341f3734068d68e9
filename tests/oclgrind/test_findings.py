"""Kernels for GPUs on Oclgrind, which runs work-groups as GPUs do: it finds nothing.

It reports data races, barriers that not all work-items of a group reach, and accesses beyond the
ends of buffers, none of which shows on a processor.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cases import families
from devices import unavailable
from paths import TESTS

pytestmark = pytest.mark.slow

DRIVER = Path("/usr/lib/oclgrind/liboclgrind-rt-icd.so")
PROFILES = ("gpu", "adreno", "mali", "nvidia", "amd", "intel_xe", "cpu_avx512_bytes")
# By default each profile runs every (PROFILES * SAMPLED)th case of an operator, each another.
SAMPLED = 6
SHARES = 3  # By default each profile runs every third operator, so that two of them run each.
BUILD_OPTIONS = "-U__has_builtin"  # Oclgrind does not know all of Clang's builtins.
# In what Oclgrind prints: what was found, and in which kernel.
FINDING = re.compile(r"^(\S.*?)(?: at .*)?\n\s+Kernel:\s+(\S+)", re.MULTILINE)

FAULTS = """
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void race(__global float* y) {
  __local float held[8];
  int i = get_local_id(0);
  held[i] = i;
  y[get_global_id(0)] = held[i ^ 1];
}
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void divergence(__global float* y) {
  if (get_local_id(0) < 4) barrier(CLK_LOCAL_MEM_FENCE);
  y[get_global_id(0)] = 1.0f;
}
__kernel __attribute__((reqd_work_group_size(8, 1, 1))) void beyond(__global float* y) {
  y[get_global_id(0) + 1] = 1.0f;
}
"""
FAULTY_PROGRAM = f"""
import pyopencl as cl
device = next(p for p in cl.get_platforms() if p.name == "Oclgrind").get_devices()[0]
context = cl.Context([device])
queue = cl.CommandQueue(context)
for kernel in cl.Program(context, '''{FAULTS}''').build(cache_dir=False).all_kernels():
    kernel(queue, (16,), (8,), cl.Buffer(context, cl.mem_flags.READ_WRITE, 64))
queue.finish()
"""


def simulated(folder: Path, *arguments: str) -> tuple[str, str]:
    """What a program of Python that uses Oclgrind prints, and what Oclgrind finds."""
    if not DRIVER.exists():
        unavailable("not installed: oclgrind")
    (folder / "oclgrind.icd").write_text(str(DRIVER))
    told = {
        "OCL_ICD_VENDORS": str(folder),
        "OCLGRIND_BUILD_OPTIONS": BUILD_OPTIONS,
        "OCLGRIND_DATA_RACES": "1",
        "OCLGRIND_MAX_ERRORS": "100",
        "OCLGRIND_NUM_THREADS": "1",
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=TESTS,
        env={**os.environ, **told},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout, done.stderr


def test_faults_are_found(tmp_path: Path) -> None:
    _, said = simulated(tmp_path, "-c", FAULTY_PROGRAM)
    assert set(FINDING.findall(said)) == {
        ("Read-write data race", "race"),
        ("Work-group divergence detected (barrier)", "divergence"),
        ("Invalid write of size 4", "beyond"),
    }


def test_words_do_not_reach_beyond_an_image(tmp_path: Path) -> None:
    """Of narrow pixels, whose bytes are multiplied four at a time."""
    told = ("-m", "oclgrind.simulate", "intel_xe", "0", "1", "quantized narrow images")
    output, said = simulated(tmp_path, *told)
    assert not FINDING.findall(said), said[:4000]
    assert json.loads(output) == {}


@pytest.mark.parametrize("profile", PROFILES)
def test_nothing_is_found(profile: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    chosen, operators = ("0", "1"), tuple(families())
    if request.config.getoption("--cases") != "all":
        number = PROFILES.index(profile)
        chosen = (str(number), str(len(PROFILES) * SAMPLED))
        operators = operators[number % SHARES :: SHARES]
    output, said = simulated(tmp_path, "-m", "oclgrind.simulate", profile, *chosen, *operators)
    assert not FINDING.findall(said), said[:4000]
    assert json.loads(output) == {}
