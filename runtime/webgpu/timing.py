"""How long commands take, by the device's own clock where it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from .commands import Dispatch, TextureCopy, encode
from .downloads import Copy, Download
from .library import wgpu_native

FEATURE = "timestamp-query"
_SIZE = 16
"""Bytes of two timestamps."""


def seconds_of(device: Any, commands: Sequence[Dispatch | TextureCopy]) -> list[float]:
    """The seconds that each command takes, run one at a time (wgpu's errors).

    Wall-clock time from launch to completion on devices without timestamps.
    """
    return list((_stamped if FEATURE in device.features else _timed)(device, commands))


def _stamped(device: Any, commands: Sequence[Dispatch | TextureCopy]) -> Iterator[float]:
    queries = device.create_query_set(type="timestamp", count=2)
    resolved = device.create_buffer(size=_SIZE, usage="QUERY_RESOLVE | COPY_SRC")
    period = wgpu_native.lib.wgpuQueueGetTimestampPeriod(device.queue._internal)
    stamps = {
        **{"query_set": queries, "beginning_of_pass_write_index": 0},
        "end_of_pass_write_index": 1,
    }
    times = np.zeros(2, np.uint64)
    for command in commands:
        encoder = device.create_command_encoder()
        encode([command], encoder, stamps)
        encoder.resolve_query_set(queries, 0, 2, resolved, 0)
        device.queue.submit([encoder.finish()])
        Download(device, [Copy(resolved, 0, times)]).finish()
        yield float(times[1] - times[0]) * period * 1e-9
    resolved.destroy()
    queries.destroy()


def _timed(device: Any, commands: Sequence[Dispatch | TextureCopy]) -> Iterator[float]:
    word = device.create_buffer(size=4, usage="COPY_SRC")
    for command in commands:
        start = perf_counter()
        encoder = device.create_command_encoder()
        encode([command], encoder)
        device.queue.submit([encoder.finish()])
        Download(device, [Copy(word, 0, np.empty(1, np.uint32))]).finish()
        yield perf_counter() - start
    word.destroy()
