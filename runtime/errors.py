"""The errors that loading and running a model can raise. `TflgpuError` is the base of all."""

import sys
from itertools import count
from typing import Any
from warnings import warn

from .printable import printable_lines


class TflgpuError(Exception):
    """Base of every error that tflgpu raises on purpose. Any other exception is a bug in tflgpu.

    TimeoutError, of a run that is waited for with a timeout, is the exception. The text is safe to
    print, whatever a model's names contain.
    """

    def __str__(self) -> str:
        return printable_lines(super().__str__())

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickled errors cross processes; constructors of subclasses take other arguments.
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[TflgpuError], args: tuple[Any, ...], state: dict[str, Any]) -> Exception:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class PlanError(TflgpuError, ValueError):
    """A compiled model cannot be used.

    The folder holds no plan, its files are damaged or unsafe to trust, another version of tflgpu
    wrote them, or the device cannot run the plan. Raised by `load`; the text says what to do,
    usually to compile the model again.
    """


class StoreError(TflgpuError, RuntimeError):
    """A store cannot be reached, read or written, or a key for it cannot be used.

    The text names the URL, with the file if it is about one.
    """


class TflgpuWarning(UserWarning):
    """Base of every warning of tflgpu, with a text that is safe to print."""

    def __str__(self) -> str:
        return printable_lines(super().__str__())


class CacheWarning(TflgpuWarning):
    """A cache is not as it should be.

    Compiled kernels could not be stored, so that the next start will be slow as well; kernels in it
    were changed; or a store cannot be reached, so that what was fetched before is used.
    """


class DeviceWarning(TflgpuWarning):
    """A device or a driver does not work, so that another device is used."""


class InputError(TflgpuError, ValueError):
    """What the caller gives for an input or output does not fit. The text names all that do not.

    In a run with `check`, also an index that is out of bounds.
    """


class DeviceError(TflgpuError, RuntimeError):
    """No suitable device is present, or a driver call failed.

    The text names the device and the status (CL_OUT_OF_RESOURCES rather than -5).
    """


class BuildError(DeviceError):
    """The driver's compiler rejected a kernel."""

    def __init__(self, kernel: str, log: str, source: str) -> None:
        self.kernel = kernel  # The kernel's file, such as kernels/003_conv_2d.cl.
        self.log = log  # The compiler's messages.
        self.source = _numbered(source)  # The kernel's source, each line with its number.
        super().__init__(f"the driver's compiler rejected {kernel}:\n{log}")


def _numbered(source: str) -> str:
    lines = source.splitlines()
    width = len(str(len(lines)))
    return "\n".join(f"{number:{width}} | {line}" for number, line in enumerate(lines, 1))


_PACKAGE = __name__.partition(".")[0]


def warn_caller(warning: TflgpuWarning) -> None:
    """Give a warning to the nearest caller outside of tflgpu, whose line it then names."""
    warn(warning, stacklevel=_callers())


def _callers() -> int:
    """The `stacklevel` with which `warn_caller` reaches that caller."""
    for level in count(1):
        try:
            module = sys._getframe(level).f_globals.get("__name__", "")
        except ValueError:
            break
        if module.partition(".")[0] != _PACKAGE:
            break
    return level
