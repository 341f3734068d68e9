"""The binaries of several programs as one piece of bytes, with which program each kernel is in."""

from __future__ import annotations

import struct
from collections.abc import Sequence

_COUNTS = struct.Struct("<II")


def join_binaries(contents: Sequence[bytes], places: Sequence[int]) -> bytes:
    """One piece of bytes. `places` holds for each kernel the index of its program."""
    counts = _COUNTS.pack(len(contents), len(places))
    table = struct.pack(f"<{len(places)}I", *places)
    sizes = struct.pack(f"<{len(contents)}Q", *map(len, contents))
    return b"".join((counts, table, sizes, *contents))


def split_binaries(data: bytes) -> tuple[list[bytes], tuple[int, ...]] | None:
    """What `join_binaries` was given; None if these are no bytes of its making.

    >>> split_binaries(join_binaries([b"first", b"second"], [0, 1, 0]))
    ([b'first', b'second'], (0, 1, 0))
    """
    try:
        programs, kernels = _COUNTS.unpack_from(data)
        start = _COUNTS.size
        if 4 * kernels + 8 * programs > len(data) - start:
            return None
        places = struct.unpack_from(f"<{kernels}I", data, start)
        start += 4 * kernels
        sizes = struct.unpack_from(f"<{programs}Q", data, start)
        start += 8 * programs
    except struct.error:
        return None
    if start + sum(sizes) != len(data) or max(places, default=-1) >= programs:
        return None
    contents = []
    for size in sizes:
        contents.append(data[start : start + size])
        start += size
    return contents, places
