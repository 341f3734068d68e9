"""Drivers that crash, hang or cannot compile are found out without harm, and remembered."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from devices import need_programs, unavailable
from paths import DIGITS_MODEL

import tflgpu
from tflgpu import CacheWarning
from tflgpu.runtime.launch import attempt as launch
from tflgpu.runtime.opencl import attempt, trials
from tflgpu.runtime.opencl.drivers import Driver
from tflgpu.runtime.opencl.instructions import examples
from tflgpu.runtime.opencl.trials import Trials

FAULTS = {"ABORT": "abort();", "CRASH": "*(volatile int *)0 = 1;", "HANG": "for (;;) sleep(1);"}

SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int clIcdGetPlatformIDsKHR(unsigned count, void **platforms, unsigned *found) {
  fprintf(stderr, "the driver's last words\\n");
  %s
  return -1;
}
int clGetPlatformInfo(void *platform, unsigned name, size_t size, void *value, size_t *needed) {
  return -1;
}
void *clGetExtensionFunctionAddress(const char *name) {
  return strcmp(name, "clIcdGetPlatformIDsKHR") ? NULL : (void *)clIcdGetPlatformIDsKHR;
}
"""

LOAD = """
import sys, warnings
import tflgpu
warnings.simplefilter("always")
try:
    with tflgpu.load(sys.argv[1], device=sys.argv[2]) as session:
        print("runs on", session.device)
except tflgpu.DeviceError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model compiled for any processor."""
    return tflgpu.compile(DIGITS_MODEL, tmp_path_factory.mktemp("digits"), device="cpu")


def broken(folder: Path, fault: str) -> Driver:
    """A driver that does so when it is asked for its platforms."""
    need_programs("gcc")
    source, library = folder / f"{fault}.c", folder / f"lib{fault}.so"
    source.write_text(SOURCE % FAULTS[fault])
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-o", library, source], check=True)
    registration = folder / f"{fault}.icd"
    registration.write_text(f"{library}\n")
    return Driver(str(library), str(registration))


def working(pocl: bool = False) -> Driver:
    """The driver of an OpenCL device that works, PoCL or one that is tried in less time, if any."""
    found = [trial.driver for trial in trials.known().drivers if trial.usable() and trial.devices]
    if not found:
        unavailable("no OpenCL device is present")
    return max(found, key=lambda driver: is_pocl(driver) == pocl)


def is_pocl(driver: Driver) -> bool:
    return str(driver).startswith("libpocl")


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("ABORT", "it crashed (SIGABRT) while listing its devices: the driver's last words"),
        ("CRASH", "it crashed (SIGSEGV) while listing its devices: the driver's last words"),
        ("HANG", "it did not come back within 1 s while listing its devices"),
    ],
)
def test_a_broken_driver(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str, reason: str
) -> None:
    monkeypatch.setattr("tflgpu.runtime.launch.attempt.PATIENCE", 1.0)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    tried = Trials([broken(tmp_path, fault)], tmp_path / "cache")
    tried.run()
    (trial,) = tried.drivers
    assert trial.failure.startswith(reason) and not trial.usable()
    waits = trial.advice().startswith("wait until the machine has less to do, update it or remove")
    assert waits == (fault == "HANG")
    assert os.listdir(tried.vendors()) == []
    again = Trials([trial.driver], tmp_path / "cache")
    assert again.recall() and [*again._lines()] == [*tried._lines()]
    (file,) = (tmp_path / "cache").rglob("trials.txt")
    a_day_ago = time.time() - 25 * 3600
    os.utime(file, (a_day_ago, a_day_ago))
    assert again.recall() == (fault != "HANG"), "a busy machine, on which any driver seems to hang"


def test_what_links_kernels_is_not_missed_where_time_ran_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tflgpu.runtime.opencl.drivers._program", lambda name: "")
    trial = trials.DriverTrial(Driver("/lib/libpocl.so.2", "/etc/OpenCL/vendors/pocl.icd"))
    assert trial.advice().startswith("it needs ld and gcc on the PATH")
    trial.overdue = True
    assert "gcc" not in trial.advice() and "remove /etc/OpenCL/vendors/pocl.icd" in trial.advice()


def test_a_slow_driver_is_waited_for_on_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("tflgpu.runtime.launch.attempt.PATIENCE", 0.5)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    for programs, seconds in ((6.0, "2 s"), (600.0, "3 s")):
        monkeypatch.setattr(os, "getloadavg", lambda busy=programs: (busy, 0.0, 0.0))
        tried = Trials([broken(tmp_path, "HANG")], tmp_path / "cache")
        tried.run()
        assert f"within {seconds} while" in tried.drivers[0].failure


def test_a_working_driver_is_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, driver: str
) -> None:
    drivers = [broken(tmp_path, "ABORT"), working()]
    first = Trials(drivers, tmp_path / "cache")
    assert not first.recall()
    first.run()
    assert [trial.usable() for trial in first.drivers] == [False, True]
    assert [file.read_text() for file in Path(first.vendors()).iterdir()] == [
        f"{drivers[1].library}\n"
    ]
    monkeypatch.setattr(attempt, "Attempt", None)
    again = Trials(drivers, tmp_path / "cache")
    assert again.recall() and [*again._lines()] == [*first._lines()]
    Path(drivers[0].registration).write_text(f"{drivers[0].library}\n\n")
    assert not Trials(drivers, tmp_path / "cache").recall()


@pytest.mark.parametrize("content", ["", "nonsense", "driver\tx\ndriver\ty", "device\tx\ty\tz"])
def test_what_is_damaged_is_not_remembered(tmp_path: Path, content: str) -> None:
    driver = Driver("libnone.so", str(tmp_path / "none.icd"))
    first = Trials([driver], tmp_path / "cache")
    first.run()
    (file,) = (tmp_path / "cache").rglob("trials.txt")
    file.write_text(content)
    assert not Trials([driver], tmp_path / "cache").recall()


def test_where_nothing_can_be_remembered(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    tried = Trials([Driver("libnone.so", str(tmp_path / "none.icd"))], tmp_path / "cache")
    with pytest.warns(CacheWarning, match="tried again at every start: .*cache"):
        tried.run()
    assert os.listdir(tried.vendors()) == ["00.icd"]


def test_an_instruction_that_ends_the_process_does_no_harm() -> None:
    class Said(launch.Attempt):
        def __init__(self, *lines: tuple[str, object], then: str) -> None:
            said = [f"print({json.dumps(json.dumps(line))}, flush=True)" for line in lines]
            self._program = "; ".join(["import os", *said, then])
            super().__init__("", (), {})

        def _run(self, command: list[str], variables: Mapping[str, str]) -> None:
            super()._run([sys.executable, "-c", self._program], variables)

    worked = ("step", "running a kernel"), ("result", "")
    tried = Said(*worked, ("step", "building a kernel"), then="os.abort()")
    assert (tried.failure, tried.instructions) == ("", [])
    tried = Said(*worked, ("step", "opening"), ("instruction", "avx512_vnni"), then="pass")
    assert (tried.failure, tried.instructions) == ("", ["avx512_vnni"])
    assert Said(worked[0], then="os.abort()").failure.startswith("it crashed (SIGABRT) while")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Trials:
    """PoCL, if it is there, whose trials take longest."""
    found = Trials([working(pocl=True)], tmp_path_factory.mktemp("tried"))
    found.run()
    return found


def test_instructions_are_those_of_the_processor_that_kernels_can_use(tried: Trials) -> None:
    for device in (each for trial in tried.drivers for each in trial.devices):
        assert set(device.instructions) <= set(examples(device.widest()))
        if is_pocl(tried.drivers[0].driver):
            # It ends the process over a function that it does not know.
            expected = set(examples(device.widest())) - {"nanosleep"}
            assert set(device.instructions) == expected


def test_vectors_too_wide_are_tried_once(tried: Trials) -> None:
    device = next(each for trial in tried.drivers for each in trial.devices if each.widest())
    device.lanes = {4: ""}
    assert tried.reason_against(device.name, device.version, 4) == ""
    assert 16 not in device.lanes
    assert tried.reason_against(device.name, device.version, 16) == device.lanes[16]
    device.lanes[16] = "too wide"
    assert tried.reason_against(device.name, device.version, 16) == "too wide"
    assert tried.reason_against("another", device.version, 16) == ""


def run(tmp_path: Path, drivers: Sequence[Driver], program: list[str], path: str = "") -> str:
    """What a new process prints that has these drivers."""
    vendors = tmp_path / "vendors"
    if not vendors.exists():  # Drivers whose files are new are tried once more.
        vendors.mkdir()
        for number, each in enumerate(drivers):
            (vendors / f"{number}.icd").write_text(f"{each.library}\n")
    done = process(tmp_path, *program, PATH=path or os.environ["PATH"])
    return done.stdout + done.stderr


def process(folder: Path, *program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program of Python that finds the drivers in a folder, no OpenGL and no WebGPU."""
    environment = {
        **os.environ,
        "OCL_ICD_VENDORS": str(folder / "vendors"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "__EGL_VENDOR_LIBRARY_DIRS": "/none",
        "VK_DRIVER_FILES": "/none",
        "VK_ICD_FILENAMES": "/none",
        **variables,
    }
    command = [sys.executable, *program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_auto_passes_over_it(tmp_path: Path, digits: Path) -> None:
    """With one warning; naming it is an error that says the same."""
    drivers = broken(tmp_path, "ABORT"), working()
    output = run(tmp_path, drivers, ["-c", LOAD, str(digits), "auto"])
    reason = "libABORT.so cannot be used: it crashed (SIGABRT) while listing its devices"
    assert output.count(reason) == 1 and "DeviceWarning" in output and "runs on" in output
    assert "tflgpu doctor" in output and str(tmp_path / "vendors" / "0.icd") in output
    output = run(tmp_path, drivers, ["-c", LOAD, str(digits), "libABORT"])
    assert output.startswith(reason) and "Warning" not in output
    listed = json.loads(run(tmp_path, drivers, ["-m", "tflgpu", "devices", "--json"]))
    assert [item["name"] for item in listed["devices"] if not item["usable"]] == ["libABORT.so"]
    assert reason.endswith(listed["devices"][-1]["reason"].partition(":")[0])
    assert "libABORT.so" in run(tmp_path, drivers, ["-m", "tflgpu", "doctor"])


def test_a_path_without_a_linker(tmp_path: Path, digits: Path) -> None:
    """PoCL aborts where it cannot link, also if it could before."""
    drivers = [working(pocl=True)]
    if not is_pocl(drivers[0]):
        unavailable("no PoCL is present")
    assert "runs on" in run(tmp_path, drivers, ["-c", LOAD, str(digits), "auto"])
    (tmp_path / "bin").mkdir()
    output = run(tmp_path, drivers, ["-c", LOAD, str(digits), "auto"], path=str(tmp_path / "bin"))
    assert "it crashed (SIGABRT) while running a kernel" in output
    assert "it needs ld and gcc on the PATH" in output and "apt install gcc" in output


def test_doctor_where_nothing_works(tmp_path: Path) -> None:
    driver = broken(tmp_path, "CRASH")
    (tmp_path / "vendors").mkdir()
    shutil.copy(driver.registration, tmp_path / "vendors")
    done = process(tmp_path, "-m", "tflgpu", "doctor", "--json")
    assert done.returncode == 1 and done.stderr.startswith("error: no device works")
    report = json.loads(done.stdout)
    assert report["usable"] is False and report["devices"] == []
    assert any("SIGSEGV" in item["note"] for item in report["opencl"])
