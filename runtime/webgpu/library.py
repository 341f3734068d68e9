"""PyPI's wgpu, and its errors as tflgpu's."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import DeviceError

try:
    import wgpu
    from wgpu.backends import wgpu_native
except ImportError as error:
    raise DeviceError(
        "WebGPU needs wgpu, which is not installed; install it with: pip install 'tflgpu[webgpu]'"
    ) from error
except OSError as error:
    raise DeviceError(f"WebGPU's library cannot be loaded: {error}") from error

# What to do if the device is lost, which errors have no type of their own for.
ON_LOSS = "its driver was reset or updated, or is out of memory: load the model again"

__all__ = ["driver_call", "wgpu", "wgpu_native"]


@contextmanager
def driver_call(name: str, doing: str) -> Iterator[None]:
    """A block in which errors of wgpu become a DeviceError with what the device was doing."""
    try:
        yield
    except DeviceError:
        raise
    except (wgpu.GPUError, RuntimeError) as error:
        said = message(error)
        advice = f"; {ON_LOSS}" if "lost" in said else ""
        raise DeviceError(f"{name}: {said} while {doing}{advice}") from error


def message(error: Exception) -> str:
    """What wgpu says, in one line: its last cause."""
    lines = [line.strip() for line in str(error).splitlines()]
    return next((line for line in reversed(lines) if line), type(error).__name__)
