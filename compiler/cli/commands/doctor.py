"""`tflgpu doctor`: what is installed here, what works, and what is missing."""

import os
import platform
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import click

from .... import runtime
from ....runtime.errors import DeviceError
from ....runtime.launch.device import DeviceInfo
from ....runtime.opencl import drivers, trials
from ....runtime.opencl.find import advice
from ....runtime.processor import instructions, processor_name, usable_cores
from ...devices.attached import match
from ...user_cache import user_cache
from ..printing import Answer, Column, Listing, json_option
from ..shell import Command, Failure

# Packages of Python, and what one that is missing would give.
PACKAGES: Mapping[str, str] = {
    "tflgpu": "",
    "numpy": "",
    "pyopencl": "memory of OpenCL that others use: pip install pyopencl",
    "intel-opencl-rt": "an OpenCL driver for CPUs of x86-64: pip install 'tflgpu[cpu]'",
    "pocl-binary-distribution": "an OpenCL driver for the CPU: pip install 'tflgpu[pocl]'",
    "moderngl": "OpenGL: pip install 'tflgpu[gl]'",
    "wgpu": "WebGPU: pip install 'tflgpu[webgpu]'",
    "ai-edge-litert": "fallback and verify: pip install 'tflgpu[litert]'",
    "fsspec": "stores: pip install 'tflgpu[stores]'",
    "distributed": "many machines: pip install 'tflgpu[fleet]'",
}

# Programs, and what one that is missing would give.
PROGRAMS: Mapping[str, str] = {
    "glslangValidator": "--target vulkan and metal: apt install glslang-tools",
    "spirv-cross": "--target metal: apt install spirv-cross",
    "gcc": "building exported projects, and PoCL from PyPI: apt install gcc libc6-dev",
    "cmake": "building exported projects: apt install cmake",
    "clang": "inspect --compiler ptxas and amdgcn: apt install clang-19 libclc-19",
    "ptxas": "inspect --compiler ptxas: pip install 'tflgpu[ptxas]'",
    "ocloc": "inspect --compiler ocloc: apt install intel-ocloc",
}

# What drivers that have no device unless they are asked for one want, by how their names begin.
ASKED: Mapping[str, str] = {
    "libRusticlOpenCL": "; RUSTICL_ENABLE must name the drivers that it may use, such as radeonsi",
}

# Instructions that decide between profiles.
WIDEST = sorted({"avx512_vnni", "avx512f", "avx2", "sse4_2", "asimd"})


@dataclass(frozen=True)
class Item:
    name: str
    found: str  # The version, path or verdict; empty if it is missing.
    note: str = ""


@click.command(cls=Command, short_help="Examine drivers, programs and packages.")
@json_option
def doctor() -> None:
    """Examine the installation: versions, drivers, devices, programs and packages.

    Every OpenCL driver is tried anew in a process of its own. Exit code 1 if no device works. Put
    the output into reports of bugs.
    """
    trials.try_again()
    with suppress(DeviceError):
        from ....runtime.webgpu import trials as adapters

        adapters.try_again()
    found, error = _devices()
    programs = [Item(name, shutil.which(name) or "", gives) for name, gives in PROGRAMS.items()]
    devices = [Item(str(info), match(info).profile.name, info.target) for info in found]
    report = {
        "system": _listing("System", _system()),
        "packages": _listing(
            "Packages", [_package(*each) for each in PACKAGES.items()], missing=True
        ),
        "opencl": _listing("OpenCL drivers", _opencl()),
        "devices": _listing("Devices that work, with the profile and target of each", devices),
        "programs": _listing("Programs", programs, missing=True),
    }
    Answer({**report, "usable": bool(found)}).print()
    if not found:
        raise Failure(f"no device works; {error or advice()}")


def _system() -> list[Item]:
    have = [name for name in WIDEST if name in instructions()]
    cache = user_cache().parent
    return [
        Item("system", platform.platform()),
        Item("Python", sys.version.split()[0], sys.executable),
        Item("processor", processor_name(), f"{usable_cores()} cores {' '.join(have)}".strip()),
        Item("cache", str(cache), "" if _writable(cache) else "cannot be written to"),
    ]


def _writable(folder: os.PathLike[str]) -> bool:
    """Whether files can be created in a folder, which may not exist yet."""
    path = os.path.abspath(folder)
    while not os.path.exists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def _package(name: str, gives: str) -> Item:
    try:
        return Item(name, version(name), gives)
    except PackageNotFoundError:
        return Item(name, "", gives)


def _opencl() -> list[Item]:
    """Each driver with what became of its trial."""
    items = []
    if named := drivers.chosen_place():
        items.append(Item(drivers.VENDORS, named, "the only place where drivers are looked for"))
    for trial in trials.known().drivers:
        name = str(trial.driver)
        if trial.failure:
            items.append(Item(name, "fails", f"{trial.failure}; {trial.advice()}"))
        elif not trial.devices:
            asked = next((text for start, text in ASKED.items() if name.startswith(start)), "")
            items.append(Item(name, "works", f"has no device here{asked}"))
        for device in trial.devices:
            lanes = device.widest()
            failures = "; ".join(dict.fromkeys(filter(None, device.lanes.values())))
            if lanes:
                note = f"vectors of {lanes} floats" + (
                    f", no wider ones: {failures}" * bool(failures)
                )
                items.append(Item(name, "works", f"{device.name}: {note}"))
            else:
                note = f"{device.name}: {failures}; {trial.advice()}"
                items.append(Item(name, "fails", note))
    return items


def _devices() -> tuple[list[DeviceInfo], str]:
    """The devices that work, and what went wrong while they were looked for."""
    try:
        return runtime.devices(), ""
    except DeviceError as error:
        return [], str(error)


def _listing(title: str, items: Sequence[Item], missing: bool = False) -> Listing:
    """A section. With `missing`, notes say what an item gives, which matters if it is missing."""

    def note(item: Item) -> str:
        return "" if missing and item.found else item.note

    columns = (
        Column("name", ""),
        Column("found", "", text=lambda item: item.found or "missing"),
        Column("note", "" if any(map(note, items)) else None, text=note),
    )
    return Listing(title, columns, items)
