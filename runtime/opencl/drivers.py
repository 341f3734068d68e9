"""The OpenCL drivers installed, found where the loader looks for them, without loading any."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from ..frozen import dataclass

SYSTEM = Path("/etc/OpenCL/vendors")
"""Where Linux registers drivers, each by a file that names its library."""
_ENVIRONMENT = Path(sys.prefix, "etc/OpenCL/vendors")
"""Where Conda registers them."""
PACKAGES = ("lib/libintelocl.so",)
"""Libraries of drivers from PyPI that register themselves nowhere, in the Python environment."""
LINKING = {"libpocl": ("ld", "gcc")}
"""The programs that a driver links kernels with, by the beginning of its library's name."""
VENDORS = "OCL_ICD_VENDORS"
"""The variable of a folder or file in which loaders look for drivers instead of `SYSTEM`."""
OURS = "tflgpu-vendors"
"""The name of a folder that `register` fills, for loaders that others in this process use."""


@dataclass(frozen=True)
class Driver:
    """An installed driver. `str` of it is what it is called where it cannot say its name."""

    library: str
    """A path, or a name that the system's linker finds."""
    registration: Path
    """The file that names the library, or the library itself."""

    def __str__(self) -> str:
        return Path(self.library).name

    def identity(self) -> tuple[object, ...]:
        """Differs whenever the driver, or what it links kernels with, has been replaced."""
        stamps = map(_stamp, (self.registration, Path(self.library)))
        return (self.library, *stamps, *map(_program, self._linking()))

    def advice(self) -> str:
        """What to do if the driver does not work."""
        missing = [name for name in self._linking() if not _program(name)]
        if missing:
            return f"it needs {' and '.join(missing)} on the PATH; on Debian: apt install gcc"
        return (
            f"update it or remove {self.registration}; a driver that runs on the CPU comes with: "
            "pip install 'tflgpu[cpu]'"
        )

    def _linking(self) -> tuple[str, ...]:
        name = Path(self.library).name
        return next((LINKING[prefix] for prefix in LINKING if name.startswith(prefix)), ())


def installed() -> list[Driver]:
    """All drivers, each once; none on systems whose loader does not read folders."""
    if sys.platform != "linux":
        return []
    found = {driver.library: driver for driver in _registered()}
    if not chosen_place():
        for name in PACKAGES:
            library = Path(sys.prefix, name)
            if library.exists():
                found[str(library)] = Driver(str(library), library)
    return list(found.values())


def chosen_place() -> str:
    """The only place where to look for drivers, if the environment names one."""
    named = os.environ.get(VENDORS, "")
    return "" if Path(named).name == OURS else named


def register(folder: Path, libraries: Sequence[str]) -> None:
    """Make a folder register exactly these drivers (OSError).

    Not those beside the loader in pyopencl's wheels, which finds them anyway.
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    beside = {str(home / ".libs") for home in _loader_homes()}
    libraries = [library for library in libraries if os.path.dirname(library) not in beside]
    names = {f"{number:02}.icd": library for number, library in enumerate(libraries)}
    for name, library in names.items():
        (folder / name).write_text(f"{library}\n", encoding="utf-8")
    for file in folder.iterdir():
        if file.name not in names:
            file.unlink(missing_ok=True)


def _registered() -> Iterator[Driver]:
    for folder in _folders():
        for file in [folder] if folder.suffix == ".icd" else sorted(folder.glob("*.icd")):
            with suppress(OSError, IndexError, UnicodeDecodeError):
                library = file.read_text(encoding="utf-8").split("\n")[0].strip()
                beside = file.parent / library
                if os.path.isabs(library) and not beside.exists():
                    continue
                yield Driver(str(beside) if beside.is_file() else library, file)


def _folders() -> list[Path]:
    if named := chosen_place():
        return [Path(named)]
    return [SYSTEM, _ENVIRONMENT, *(home / ".libs" for home in _loader_homes())]


def _loader_homes() -> list[Path]:
    """Where pyopencl is installed: in its `.libs`, the loader in its wheels looks for drivers."""
    package = find_spec("pyopencl")
    return [Path(home) for home in (package and package.submodule_search_locations) or ()]


def _program(name: str) -> str:
    """Where a program is; empty if it is missing. Importing shutil would take longer."""
    paths = (os.path.join(folder, name) for folder in os.get_exec_path())
    return next((path for path in paths if os.access(path, os.X_OK)), "")


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        status = path.stat()
    except OSError:
        return ()
    return (status.st_size, status.st_mtime_ns)
