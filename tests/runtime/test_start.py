"""What a start takes: which variant is loaded, and what is imported for it."""

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest
from devices import its_driver_alone
from plans import LENGTH, Parts, chain, misaligned

from tflgpu.runtime import PlanError, load
from tflgpu.runtime.api import Loading, load_folder
from tflgpu.runtime.cache.variant import Weights
from tflgpu.runtime.launch.device import Device
from tflgpu.runtime.opencl.device import OpenCLDevice

pytestmark = pytest.mark.shared


def test_newest_runnable_variant(tmp_path: Path, opencl_device: str) -> None:
    def write(parts: Parts, name: str, age: int) -> None:
        folder = parts.write(tmp_path, name)
        os.utime(folder / "plan.tflgpu", (age, age))

    write(chain().replacing(profile="old"), "a", 1000)
    write(chain().replacing(profile="new"), "b", 2000)
    write(misaligned().replacing(profile="newest, but not for this device"), "c", 3000)
    with load(tmp_path, "ab" * 32, device=opencl_device) as session:
        assert session.plan.profile == "new"


def test_no_runnable_variant(tmp_path: Path, opencl_device: str) -> None:
    for name in ("a", "b"):
        misaligned().write(tmp_path, name)
    with pytest.raises(PlanError) as caught:
        load(tmp_path, device=opencl_device)
    message = str(caught.value)
    assert "no variant in" in message
    assert "\n  a: its arguments start at multiples of 4 bytes, but this device needs" in message
    assert "\n  b: its arguments start at multiples of 4 bytes, but this device needs" in message


def test_a_device_is_released_if_its_observer_fails(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[Device] = []

    monkeypatch.setattr(OpenCLDevice, "release", lambda self: released.append(self))

    class Failing(Loading):
        def opened(self, device: Device) -> Device:
            raise ValueError

    with pytest.raises(ValueError):
        load_folder(chain().write(tmp_path), None, opencl_device, watch=Failing())
    assert len(released) == 1


def test_import_is_cheap() -> None:
    program = "import sys, tflgpu.runtime; print(*sys.modules)"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    heavy = {"numpy", "pyopencl", "flatbuffers", "filelock", "jinja2", "tflite"}
    assert "tflgpu.runtime" in output.stdout.split()
    assert heavy.isdisjoint(output.stdout.split())


def test_a_warm_start_imports_little(tmp_path: Path, opencl_device: str) -> None:
    """Nothing that only compiling or storing needs, and no wrapper of the driver."""
    folder = chain().write(tmp_path)
    load(folder, device=opencl_device).close()
    program = (
        "import sys, tflgpu.runtime\n"
        f"session = tflgpu.runtime.load({str(folder)!r}, device={opencl_device!r})\n"
        f"session.run([[1.0] * {LENGTH}] * 2)\n"
        "print(*sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(output.stdout.split())
    assert {"numpy", "tflgpu.runtime.opencl"} <= loaded
    assert loaded.isdisjoint({"pyopencl", "filelock", "tempfile", "jinja2", "tflgpu.compiler"})
    assert "flatbuffers" not in loaded


def test_a_plan_is_read_before_numpy_is_imported(tmp_path: Path) -> None:
    """So that drivers can start meanwhile."""
    folder = chain().write(tmp_path)
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from tflgpu.runtime.cache.variant import read_plan\n"
        f"print(read_plan(Path({str(folder)!r})).model, *sys.modules)"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    model, *loaded = output.stdout.split()
    assert model == "chain.tflite"
    assert {"numpy", "flatbuffers"}.isdisjoint(loaded)


def test_weights_are_checked_unless_a_binary_is_newer(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was stored after they had been checked."""
    checked: list[Weights] = []
    compute = Weights._compute

    def computed(weights: Weights) -> None:
        checked.append(weights)
        compute(weights)

    monkeypatch.setattr(Weights, "_compute", computed)
    folder = chain().write(tmp_path)
    for count in (1, 1):
        load(folder, device=opencl_device).close()
        assert len(checked) == count
    (weights,) = folder.rglob("weights.bin")
    os.utime(weights)
    load(folder, device=opencl_device).close()
    assert len(checked) == 2
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(PlanError, match=r"weights\.bin is damaged"):
        load(folder, device=opencl_device)


def test_drivers_start_before_plans_are_read(
    tmp_path: Path, opencl_device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the names of the variants tell the target."""
    folder = chain().write(tmp_path / "cache", "opencl-f32-cpu-0")
    program = (
        "import sys\n"
        "late = {'numpy', 'pathlib', 'dataclasses'} - sys.modules.keys()\n"
        "import tflgpu\n"
        "from tflgpu.runtime.opencl import starting\n"
        "def start(name):\n"
        "    print(name, *(late & sys.modules.keys()))\n"
        "starting.start = start\n"
        f"tflgpu.load(sys.argv[1], device={opencl_device!r})"
    )
    for place in (folder, folder.parent, folder.parent.parent):
        command = [sys.executable, "-c", program, str(place)]
        output = subprocess.run(command, capture_output=True, text=True).stdout
        assert output.startswith(f"{opencl_device}\n")
    chain().write(tmp_path / "cache", "glsl-f32-gpu-0")
    command = [sys.executable, "-c", program, str(tmp_path / "cache")]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    assert not output.startswith(f"{opencl_device}\n")


def test_no_library_is_loaded_beside_the_driver(tmp_path: Path, opencl_device: str) -> None:
    """By Python, which would wait for the driver."""
    folder = chain().write(tmp_path / "cache", "opencl-f32-cpu-0")
    load(folder, device=opencl_device).close()
    program = (
        "import sys, tflgpu\n"
        "from tflgpu.runtime.opencl import starting\n"
        "imported = []\n"
        "def note(event, arguments):\n"
        "    if event == 'import' and 'numpy' not in sys.modules and starting._STARTED:\n"
        "        imported.append(arguments[:2])\n"
        "sys.addaudithook(note)\n"
        f"tflgpu.load(sys.argv[1], device={opencl_device!r})\n"
        "print(imported)"
    )
    command = [sys.executable, "-c", program, str(folder)]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    imported = dict(literal_eval(output))
    assert "tflgpu.runtime.plan.records" in imported
    assert not any(imported.values())


def test_drivers_compile_where_no_folder_can_be_kept(tmp_path: Path, opencl_device: str) -> None:
    """Of a service without a home; PoCL has no devices without a folder, so it gets one for now."""
    folder = chain().write(tmp_path / "cache")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = f"import tflgpu; tflgpu.load({str(folder)!r}, device={opencl_device!r}); print('ran')"
    alone = its_driver_alone(opencl_device, tmp_path / "vendors")
    places = {"HOME": "/dev/null/home", "TMPDIR": str(temporary), "OCL_ICD_VENDORS": alone}
    environment = {**os.environ, **places}
    for name in ("XDG_CACHE_HOME", "POCL_CACHE_DIR"):
        environment.pop(name, None)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == "ran\n", done.stderr
    assert not list(temporary.iterdir())


def test_no_variable_is_added_beside_another_thread(tmp_path: Path, opencl_device: str) -> None:
    """It may be reading the array of them, which C's library then frees."""
    folder = chain().write(tmp_path)
    load(folder, device=opencl_device).close()
    program = (
        "import ctypes, itertools, os, sys, threading, tflgpu\n"
        "def note(event, arguments):\n"
        "    if event == 'os.putenv' and threading.active_count() > 1:\n"
        "        print(arguments[0].decode())\n"
        "sys.addaudithook(note)\n"
        f"tflgpu.load(sys.argv[1], device={opencl_device!r})\n"
        "variables = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "present = itertools.takewhile(bool, map(variables.__getitem__, itertools.count()))\n"
        "names = {variable.decode().partition('=')[0] for variable in present}\n"
        "print(*names ^ os.environ.keys())"
    )
    command = [sys.executable, "-c", program, str(folder)]
    # Without what drivers have added to this process.
    output = subprocess.run(command, env=dict(os.environ), capture_output=True, text=True)
    assert (output.stdout, output.stderr) == ("\n", "")
