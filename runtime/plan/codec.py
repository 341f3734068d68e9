"""Encodes dataclasses as flatbuffers and decodes them, guided by the type hints of their fields.

    type hint                                   in the schema
    Annotated[int, "uint32"] and the like       the scalar type of that name
    bool, float, a subclass of IntEnum          bool, float64, an enum of uint8
    str, bytes                                  string, [uint8]
    Annotated[bytes, 32] and the like           [uint8] of that size
    a dataclass of scalars only                 a struct
    any other dataclass                         a table
    tuple[X, ...]                               [X], a vector
    tuple[X, Y, Z]                              a struct of three scalars
    X | None                                    an optional field

The schema has the fields in the same order. A table omits fields that hold their default: the
dataclass's, or zero for a scalar without one. Any other field without a default is required.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import MISSING, fields
from enum import IntEnum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from .buffer import OFFSET, Buffer, Draft, TableLayout, check_count

UInt8 = Annotated[int, "uint8"]
Int32 = Annotated[int, "int32"]
UInt32 = Annotated[int, "uint32"]
Int64 = Annotated[int, "int64"]
UInt64 = Annotated[int, "uint64"]
Digest = Annotated[bytes, 32]  # Of SHA-256.
Extent = tuple[UInt32, UInt32, UInt32]  # Along x, y and z.

_Record = TypeVar("_Record")
# Each scalar's code in `struct` formats.
_SCALARS = {
    "bool": "?",
    "uint8": "B",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float64": "d",
}


def encode(record: object, identifier: bytes) -> bytes:
    """A buffer with this record as its root table. Equal records give equal bytes.

    TypeError or ValueError if a value does not fit its field.
    """
    draft = Draft(identifier)
    try:
        _codec(type(record)).write(draft, 0, record)
    except struct.error as error:
        raise ValueError(str(error)) from error
    return bytes(draft.data)


def decode(kind: type[_Record], data: bytes, identifier: bytes) -> _Record:
    """The record that is the root table of a buffer. ValueError if the buffer is malformed."""
    try:
        record: _Record = _codec(kind).read(Buffer(data, identifier), 0)
    except struct.error as error:
        raise ValueError(str(error)) from error
    return record


class _Codec:
    """How values of one type are stored.

    A table, struct or vector has a slot for the value, which holds it or an offset to it.
    """

    size = alignment = OFFSET.size  # Bytes of the slot.

    def read(self, buffer: Buffer, slot: int) -> Any:
        """The value whose slot lies at that position (ValueError, struct.error)."""
        raise NotImplementedError

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        """Fill the slot at that position, and write what lies outside it behind all else."""
        raise NotImplementedError


class _Scalar(_Codec):
    def __init__(self, name: str, convert: Callable[[Any], Any] | None = None) -> None:
        self.code = _SCALARS[name]
        self.convert = convert
        self._struct = struct.Struct(f"<{self.code}")
        self.size = self.alignment = self._struct.size

    def zero(self) -> Any:
        (value,) = self._struct.unpack(bytes(self.size))
        return self.convert(value) if self.convert else value

    def read(self, buffer: Buffer, slot: int) -> Any:
        (value,) = self._struct.unpack_from(buffer.data, slot)
        return self.convert(value) if self.convert else value

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        self._struct.pack_into(draft.data, slot, value)


class _Struct(_Codec):
    """Scalars side by side, each aligned to its own size."""

    def __init__(
        self,
        members: Sequence[Any],
        make: Callable[..., Any],
        split: Callable[[Any], Sequence[Any]],
    ) -> None:
        """Of `_Scalar`s; `make` is called with the values of all members, `split` returns them."""
        self._make, self._split = make, split
        self.alignment = max(member.size for member in members)
        code, end = "<", 0
        for member in members:
            padding = -end % member.size
            code += f"{padding}x{member.code}"
            end += padding + member.size
        self._struct = struct.Struct(f"{code}{-end % self.alignment}x")
        self.size = self._struct.size
        self._conversions = [(n, item.convert) for n, item in enumerate(members) if item.convert]

    def read(self, buffer: Buffer, slot: int) -> Any:
        values = self._struct.unpack_from(buffer.data, slot)
        if self._conversions:
            converted = [*values]
            for number, convert in self._conversions:
                converted[number] = convert(values[number])
            return self._make(*converted)
        return self._make(*values)

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        self._struct.pack_into(draft.data, slot, *self._split(value))


class _Bytes(_Codec):
    def __init__(self, size: int | None = None) -> None:
        """Of any size if it is None."""
        self._count = size

    def _sized(self, content: bytes) -> bytes:
        if self._count not in (None, len(content)):
            raise ValueError(f"a digest has {len(content)} bytes instead of {self._count}")
        return content

    def read(self, buffer: Buffer, slot: int) -> Any:
        return self._sized(buffer.content(slot))

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        draft.vector(slot, self._sized(value), len(value))


class _Text(_Codec):
    def read(self, buffer: Buffer, slot: int) -> Any:
        return buffer.content(slot).decode("utf-8")

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        content = value.encode("utf-8")
        draft.vector(slot, content + b"\0", len(content))


class _Vector(_Codec):
    def __init__(self, element: _Codec) -> None:
        self._element = element

    def read(self, buffer: Buffer, slot: int) -> Any:
        element = self._element
        start, count = buffer.vector(slot, element.size)
        if isinstance(element, _Scalar) and not element.convert:
            return struct.unpack_from(f"<{count}{element.code}", buffer.data, start)
        end = start + count * element.size
        return tuple(element.read(buffer, place) for place in range(start, end, element.size))

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        check_count(len(value))
        element = self._element
        if isinstance(element, _Scalar):
            content = struct.pack(f"<{len(value)}{element.code}", *value)
            draft.vector(slot, content, len(value), element.alignment)
            return
        content = bytes(len(value) * element.size)
        place = draft.vector(slot, content, len(value), element.alignment)
        for item in value:
            element.write(draft, place, item)
            place += element.size


class _Table(_Codec):
    def __init__(self, record: Any, codecs: Sequence[_Codec]) -> None:
        self._record = record
        # Names, codecs and defaults: MISSING if the field is required.
        self._fields: list[tuple[str, _Codec, Any]] = []
        for item, codec in zip(fields(record), codecs, strict=True):
            default: Any = item.default
            if default is MISSING and isinstance(codec, _Scalar):
                default = codec.zero()
            self._fields.append((item.name, codec, default))
        self._codecs = codecs
        # By the numbers of the fields that are present.
        self._layouts: dict[tuple[int, ...], TableLayout] = {}

    def read(self, buffer: Buffer, slot: int) -> Any:
        start, size, offsets = buffer.table(slot, len(self._fields))
        values = []
        for (name, codec, default), offset in zip(self._fields, offsets, strict=True):
            if offset:
                if offset + codec.size > size:
                    raise ValueError(f"{self._record.__name__}.{name} leaves its table")
                values.append(codec.read(buffer, start + offset))
            elif default is MISSING:
                raise ValueError(f"{self._record.__name__}.{name} is missing")
            else:
                values.append(default)
        return self._record(*values)

    def write(self, draft: Draft, slot: int, value: Any) -> None:
        present = [
            (number, content)
            for number, (name, _, default) in enumerate(self._fields)
            if (content := getattr(value, name)) != default
        ]
        layout = self._layout(tuple(number for number, _ in present))
        start = draft.table(slot, layout)
        for (number, content), offset in zip(present, layout.offsets, strict=True):
            self._codecs[number].write(draft, start + offset, content)

    def _layout(self, present: tuple[int, ...]) -> TableLayout:
        if present not in self._layouts:
            slots = [(n, self._codecs[n].size, self._codecs[n].alignment) for n in present]
            self._layouts[present] = TableLayout(len(self._fields), slots)
        return self._layouts[present]


_PLAIN = {bool: _Scalar("bool"), float: _Scalar("float64"), str: _Text(), bytes: _Bytes()}


def _make_codec(hint: Any) -> _Codec:
    origin, arguments = get_origin(hint), get_args(hint)
    if hint in _PLAIN:
        return _PLAIN[hint]
    if origin is Annotated:
        detail = arguments[1]
        return _Scalar(detail) if isinstance(detail, str) else _Bytes(detail)
    if origin in (Union, UnionType):
        (value,) = (argument for argument in arguments if argument is not NoneType)
        return _codec(value)
    if origin is tuple and arguments[1:] == (...,):
        return _Vector(_codec(arguments[0]))
    if origin is tuple:
        return _Struct([_codec(item) for item in arguments], lambda *values: values, tuple)
    if issubclass(hint, IntEnum):
        return _Scalar("uint8", hint)
    members = [_codec(item.type) for item in fields(hint)]
    if all(isinstance(member, _Scalar) for member in members):
        return _Struct(members, hint, attrgetter(*(item.name for item in fields(hint))))
    return _Table(hint, members)


_codec: Callable[[Any], _Codec] = cache(_make_codec)  # How values with a type hint are stored.
