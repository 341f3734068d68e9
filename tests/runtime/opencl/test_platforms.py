"""Drivers are loaded without OpenCL's loader, and only the one that is wanted."""

import ctypes
import json
import os
import subprocess
import sys
from ctypes import byref, c_char_p, c_void_p
from pathlib import Path

from devices import need_packages, unavailable
from plans import chain

from tflgpu.runtime.opencl import functions, platforms
from tflgpu.runtime.opencl.trials import known


class Symbol(ctypes.Structure):
    """Dl_info: what a library exports at an address."""

    _fields_ = (("file", c_char_p), ("base", c_void_p), ("name", c_char_p), ("address", c_void_p))


def libraries() -> dict[str, str]:
    """The libraries of the devices that work, by their texts, the best device first."""
    found = [
        (device.rank, device.name, trial.driver.library)
        for trial in known().drivers
        for device in trial.devices
        if device.widest()
    ]
    return {name: library for _, name, library in sorted(found)}


def test_the_places_of_functions() -> None:
    """In the table of Intel's driver, which exports its functions by OpenCL's names."""
    intel = next((each for each in libraries().values() if "libintelocl" in each), None)
    if intel is None:
        unavailable("not installed: the Python package intel-opencl-rt")
    found = functions.functions_of(platforms.devices([intel])[0])
    for name in functions.FUNCTIONS:
        symbol, address = Symbol(), ctypes.cast(found.untyped(name), c_void_p)
        assert ctypes.CDLL(None).dladdr(address, byref(symbol))
        assert symbol.name.decode() == name


def test_only_the_driver_of_the_device_is_loaded(tmp_path: Path) -> None:
    """Until all devices are asked for."""
    (best, library), *others = libraries().items() or [("", "")]
    other = next((each for each in others if each[1] != library), None)
    if other is None:
        unavailable("there are no two OpenCL drivers")
    folder = chain().write(tmp_path)
    program = (
        "import tflgpu, json\n"
        "def loaded(library):\n"
        "    name = library.rpartition('/')[2].partition('.so')[0]\n"
        "    return name in open('/proc/self/maps').read()\n"
        f"libraries = {[library, other[1]]!r}\n"
        f"for device in ('auto', {other[0]!r}):\n"
        f"    with tflgpu.load({str(folder)!r}, device=device) as session:\n"
        "        print(json.dumps([str(session.device), *map(loaded, libraries)]))\n"
        "print(json.dumps([str(device) for device in tflgpu.devices()]))\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    first, second, devices = map(json.loads, said.stdout.splitlines())
    assert first == [best, True, False] and second == [other[0], True, True]
    assert devices[: len(others) + 1] == list(libraries())


def test_threads_of_pocl_keep_to_processors(tmp_path: Path) -> None:
    """Each to one of its own, unless the process may not use all."""
    pocl = next((name for name, each in libraries().items() if "libpocl" in each), None)
    if pocl is None:
        unavailable("PoCL is not installed")
    every = sorted(os.sched_getaffinity(0))
    if len(every) < 2 or len(every) < (os.cpu_count() or 1):
        unavailable("the tests may not use two processors, or not all")
    folder = chain().write(tmp_path)
    program = (
        "import json, os, sys\n"
        "os.sched_setaffinity(0, json.loads(sys.argv[1]))\n"
        "import tflgpu\n"
        f"with tflgpu.load({str(folder)!r}, device={pocl!r}):\n"
        "    threads = map(int, os.listdir('/proc/self/task'))\n"
        "    print(json.dumps([sorted(os.sched_getaffinity(each)) for each in threads]))\n"
    )

    def threads(allowed: list[int]) -> list[list[int]]:
        command = [sys.executable, "-c", program, json.dumps(allowed)]
        said = subprocess.run(command, capture_output=True, text=True, check=True)
        masks: list[list[int]] = json.loads(said.stdout)
        return masks

    assert sorted(each for each in threads(every) if len(each) == 1) == [[one] for one in every]
    last = every[-1:]
    assert all(each == last for each in threads(last))


def test_other_loaders_find_the_same_drivers(tmp_path: Path) -> None:
    """pyopencl's, after a model has been loaded."""
    need_packages("pyopencl")
    if not libraries():
        unavailable("no OpenCL device is present")
    program = (
        "import json, tflgpu\n"
        f"tflgpu.load({str(chain().write(tmp_path))!r}).close()\n"
        "import pyopencl\n"
        "platforms = pyopencl.get_platforms()\n"
        "names = [device.name for each in platforms for device in each.get_devices()]\n"
        "print(json.dumps(names))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    names = json.loads(said.stdout)
    assert sorted(names) == sorted(each.rpartition(": ")[2] for each in libraries())
