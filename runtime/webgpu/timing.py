"""How long commands take, by the device's own clock where it has one."""

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from .commands import Dispatch, TextureCopy, encode
from .downloads import Copy, Download
from .library import wgpu_native

FEATURE = "timestamp-query"
_SIZE = 16  # Bytes of two timestamps.


def seconds_of(device: Any, commands: Sequence[Dispatch | TextureCopy]) -> list[float]:
    """The seconds of each command, run alone, by the device's clock if any (wgpu's errors)."""
    stamped = FEATURE in device.features
    copied = device.create_buffer(size=_SIZE, usage="QUERY_RESOLVE | COPY_SRC")
    queries = device.create_query_set(type="timestamp", count=2) if stamped else None
    places = {"beginning_of_pass_write_index": 0, "end_of_pass_write_index": 1}
    stamps = {"query_set": queries, **places} if stamped else None
    nanoseconds = wgpu_native.lib.wgpuQueueGetTimestampPeriod(device.queue._internal)
    found = []
    for command in commands:
        times = np.zeros(2, np.uint64)
        start = perf_counter()
        encoder = device.create_command_encoder()
        encode([command], encoder, stamps)
        if stamped:
            encoder.resolve_query_set(queries, 0, 2, copied, 0)
        device.queue.submit([encoder.finish()])
        download = Download(device, [Copy(copied, 0, times)])
        download.finish()
        download.release()
        if stamped:
            found.append(float(times[1] - times[0]) * nanoseconds * 1e-9)
        else:
            found.append(perf_counter() - start)
    for each in (copied, queries):
        if each:
            each.destroy()
    return found
