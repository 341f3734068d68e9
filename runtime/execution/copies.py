"""Copies between arrays of the caller and device buffers, prepared once for many runs."""

import numpy as np

from ..launch.device import Buffer, Device
from ..launch.memory import Array
from ..plan.records import TensorInfo
from ..plan.storage import byte_size, device_dtype
from .inputs import check_range


class _Memory:
    """A device buffer as the host sees it."""

    def __init__(self, device: Device, info: TensorInfo, buffer: Buffer) -> None:
        self._device, self._info, self._buffer = device, info, buffer
        self._dtype = np.dtype(device_dtype(info.dtype))
        mapped = device.mapped(buffer, byte_size(info)) if byte_size(info) else None
        self._mapped: Array | None = None
        if mapped is not None:
            self._mapped = mapped.view(self._dtype).reshape(info.shape)

    def _as_stored(self, array: Array) -> bool:
        """Whether the device can copy an array byte by byte."""
        return array.dtype == self._dtype and array.flags.c_contiguous


class CopyIn(_Memory):
    def start(self, array: Array, may_change: bool) -> None:
        """Start copying an array of the tensor's shape and dtype.

        `may_change` says that the caller may write to it as soon as this returns; otherwise it must
        not change until a marker is done. InputError if an integer does not fit in 32 bits.
        """
        check_range(self._info, array)
        if self._mapped is not None:
            np.copyto(self._mapped, array, casting="unsafe")
        elif self._as_stored(array) and not may_change:
            self._device.upload(self._buffer, array)
        else:
            self._device.upload(self._buffer, array.astype(self._dtype, order="C"))


class CopyOut(_Memory):
    def __init__(self, device: Device, info: TensorInfo, buffer: Buffer) -> None:
        super().__init__(device, info, buffer)
        # What the device is copying to, or has copied to last.
        self._staged = np.empty(0, self._dtype)

    def start(self, target: Array) -> None:
        """Start what can be copied without waiting, behind the kernels."""
        if self._mapped is None and not self._device.downloads_wait:
            self._download(target)

    def finish(self, target: Array) -> None:
        """Complete the copy into the same array, once the kernels are done."""
        if self._mapped is not None:
            np.copyto(target, self._mapped, casting="unsafe")
            return
        if self._device.downloads_wait:
            self._download(target)
        if self._staged is not target:
            np.copyto(target, self._staged, casting="unsafe")

    def _download(self, target: Array) -> None:
        stored = self._as_stored(target)
        self._staged = target if stored else np.empty(target.shape, self._dtype)
        self._device.download(self._buffer, self._staged)
