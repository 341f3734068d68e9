"""Guard bytes behind every buffer of a session: kernels stay within the sizes that plans state."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from devices import device_kinds

# Bytes behind each buffer. All bits are set, which is NaN for a kernel that reads floats.
GUARD = 256


@contextmanager
def guarded() -> Iterator[Callable[[], None]]:
    """Sessions loaded within have guards, which the function asserts to be intact."""
    guards: list[tuple[Any, Any, int]] = []
    intact = np.full(GUARD, 0xFF, np.uint8)

    def watch(kind: Any) -> None:
        allocate = kind.allocate

        def allocate_more(device: Any, size: int) -> Any:
            buffer = allocate(device, size + GUARD)
            device.upload(buffer, intact, size)
            guards.append((device, buffer, size))
            return buffer

        patch.setattr(kind, "allocate", allocate_more)

    def check() -> None:
        for device, buffer, size in guards:
            found = np.empty(GUARD, np.uint8)
            device.download(buffer, found, size)
            device.finish()
            assert np.array_equal(found, intact), f"bytes behind a buffer of {size} were written"

    with pytest.MonkeyPatch.context() as patch:
        for kind in device_kinds():
            watch(kind)
        yield check
