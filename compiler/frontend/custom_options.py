"""Options of custom operators: bytes whose format depends on the operator.

Most writers use a flexbuffer map, which names its entries. The bytes themselves are always kept.
"""

import struct
from typing import Any

from flatbuffers import flexbuffers

# Most bytes of options that are read as a map; longer ones are programs or weights.
LONGEST = 1 << 14

_PADDINGS = {1: "SAME", 2: "VALID"}

_MALFORMED = (
    struct.error,
    AssertionError,
    IndexError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    RuntimeError,
)


def custom_attrs(operator: str, raw: bytes) -> dict[str, Any]:
    """The attributes read from a custom operator's options, and the bytes as `custom_options`."""
    if operator == "Convolution2DTransposeBias":
        return {**_transpose_convolution(raw), "custom_options": raw}
    if operator in ("MaxPoolingWithArgmax2D", "MaxUnpooling2D", "LiteRtMaxUnpooling2D"):
        return {**_pooling(raw), "custom_options": raw}
    try:
        return {**_map_entries(raw), "custom_options": raw}
    except _MALFORMED:
        return {"custom_options": raw}


def _transpose_convolution(raw: bytes) -> dict[str, Any]:
    """MediaPipe's operator stores LiteRT's struct TfLiteTransposeConvParams."""
    if len(raw) < 12:
        return {}
    padding, width, height = struct.unpack_from("<3i", raw)
    return {"padding": _PADDINGS.get(padding, "UNKNOWN"), "stride_w": width, "stride_h": height}


def _pooling(raw: bytes) -> dict[str, Any]:
    """Custom pooling operators store LiteRT's struct TfLitePoolParams."""
    if len(raw) < 20:
        return {}
    padding, stride_x, stride_y, width, height = struct.unpack_from("<5i", raw)
    return {
        "padding": _PADDINGS.get(padding, "UNKNOWN"),
        "stride_w": stride_x,
        "stride_h": stride_y,
        "filter_width": width,
        "filter_height": height,
    }


def _map_entries(raw: bytes) -> dict[str, Any]:
    # Anything shorter cannot hold a map: a length, a key, a value, a type and the root.
    if not 3 <= len(raw) <= LONGEST:
        return {}
    root = flexbuffers.GetRoot(bytearray(raw))
    entries: dict[str, Any] = _Walk(4 * len(raw)).value(root) if root.IsMap else {}
    return entries


class _Walk:
    """Reads a flexbuffer into Python values, up to `size` entries and characters.

    Without the limit a few bytes could expand to an unbounded tree, since references may be shared.
    """

    def __init__(self, size: int) -> None:
        self._left = size

    def _spend(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ValueError("the flexbuffer expands to more than its size")

    def value(self, node: Any) -> Any:
        """A scalar as itself, a vector as a tuple, a map as a dict."""
        self._spend(1)
        if node.IsMap:
            keys, values = node.AsMap.Keys, node.AsMap.Values
            self._spend(len(keys))
            return {keys[i].AsKey: self.value(values[i]) for i in range(len(keys))}
        if node.IsVector:
            entries = node.AsVector
            self._spend(len(entries))
            return tuple(self.value(entries[i]) for i in range(len(entries)))
        if node.IsTypedVector or node.IsFixedTypedVector:
            self._spend(len(node.AsTypedVector if node.IsTypedVector else node.AsFixedTypedVector))
            return tuple(node.Value)
        value = node.Value
        if isinstance(value, (str, bytes, bytearray)):
            self._spend(len(value))
        return bytes(value) if isinstance(value, bytearray) else value
