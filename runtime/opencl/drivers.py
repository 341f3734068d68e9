"""The OpenCL drivers installed, found where the loader looks for them, without loading any."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import NamedTuple

# Where Linux registers drivers, each by a file that names its library.
SYSTEM = "/etc/OpenCL/vendors"
_ENVIRONMENT = os.path.join(sys.prefix, "etc/OpenCL/vendors")  # Where Conda registers them.
# Libraries of drivers from PyPI that register themselves nowhere, in the Python environment.
PACKAGES = ("lib/libintelocl.so",)
# The programs that a driver links kernels with, by the beginning of its library's name.
LINKING = {"libpocl": ("ld", "gcc")}
# The variable of a folder or file in which loaders look for drivers instead of `SYSTEM`.
VENDORS = "OCL_ICD_VENDORS"
# The name of a folder that `register` fills, for loaders that others in this process use.
OURS = "tflgpu-vendors"


class Driver(NamedTuple):
    """An installed driver. `str` of it is what it is called where it cannot say its name."""

    library: str  # A path, or a name that the system's linker finds.
    registration: str  # The file that names the library, or the library itself.

    def __str__(self) -> str:
        return os.path.basename(self.library)

    def identity(self) -> tuple[object, ...]:
        """Differs whenever the driver, or what it links kernels with, has been replaced."""
        stamps = map(_stamp, (self.registration, self.library))
        return (self.library, *stamps, *map(_program, self._linking()))

    def advice(self, overdue: bool = False) -> str:
        """What to do about a driver that does not work, or was not waited for any longer."""
        missing = [name for name in self._linking() if not _program(name)]
        if missing and not overdue:
            return f"it needs {' and '.join(missing)} on the PATH; on Debian: apt install gcc"
        wait = "wait until the machine has less to do, " if overdue else ""
        return (
            f"{wait}update it or remove {self.registration}; a driver that runs on the CPU comes "
            f"with: {for_processors()}"
        )

    def _linking(self) -> tuple[str, ...]:
        name = str(self)
        return next((LINKING[prefix] for prefix in LINKING if name.startswith(prefix)), ())


def for_processors() -> str:
    """The command that installs a driver that runs on the CPU."""
    if sys.platform == "linux" and os.uname().machine != "x86_64":
        return "apt install pocl-opencl-icd"
    return "pip install 'tflgpu[cpu]'"


def installed() -> list[Driver]:
    """All drivers, each once; none on systems whose loader does not read folders."""
    if sys.platform != "linux":
        return []
    found = {driver.library: driver for driver in _registered()}
    if not chosen_place():
        for name in PACKAGES:
            library = os.path.join(sys.prefix, name)
            if os.path.exists(library):
                found[library] = Driver(library, library)
    return list(found.values())


def chosen_place() -> str:
    """The only place where to look for drivers, if the environment names one."""
    named = os.environ.get(VENDORS, "")
    return "" if os.path.basename(named) == OURS else named


def register(folder: str, libraries: Sequence[str]) -> None:
    """Make a folder register these drivers, but for those pyopencl's loader finds (OSError)."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    beside = _loader_folders()
    libraries = [library for library in libraries if os.path.dirname(library) not in beside]
    names = {f"{number:02}.icd": library for number, library in enumerate(libraries)}
    for name, library in names.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(f"{library}\n")
    for name in set(os.listdir(folder)) - names.keys():
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))


def _registered() -> Iterator[Driver]:
    for folder in _folders():
        for registration in [folder] if folder.endswith(".icd") else _registrations(folder):
            with suppress(OSError, UnicodeDecodeError):
                with open(registration, encoding="utf-8") as file:
                    library = file.readline().strip()
                beside = os.path.join(os.path.dirname(registration), library)
                if os.path.isabs(library) and not os.path.exists(library):
                    continue
                yield Driver(beside if os.path.isfile(beside) else library, registration)


def _registrations(folder: str) -> list[str]:
    with suppress(OSError):
        names = sorted(name for name in os.listdir(folder) if name.endswith(".icd"))
        return [os.path.join(folder, name) for name in names]
    return []


def _folders() -> list[str]:
    if named := chosen_place():
        return [named]
    return [SYSTEM, _ENVIRONMENT, *_loader_folders()]


def _loader_folders() -> list[str]:
    """Where the loader in pyopencl's wheels looks for drivers, too."""
    package = find_spec("pyopencl")
    homes = (package and package.submodule_search_locations) or ()
    return [os.path.join(home, ".libs") for home in homes]


def _program(name: str) -> str:
    """Where a program is; empty if it is missing. Importing shutil would take longer."""
    paths = (os.path.join(folder, name) for folder in os.get_exec_path())
    return next((path for path in paths if os.access(path, os.X_OK)), "")


def _stamp(path: str) -> tuple[int, ...]:
    try:
        status = os.stat(path)
    except OSError:
        return ()
    return (status.st_size, status.st_mtime_ns)
