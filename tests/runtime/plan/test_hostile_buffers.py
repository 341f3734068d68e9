"""Buffers that are damaged or made to deceive: a plan within its limits, or an error."""

import hashlib
import struct
from dataclasses import dataclass
from typing import Any

import flatbuffers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import complete

from tflgpu.runtime.errors import PlanError
from tflgpu.runtime.plan.buffer import LARGEST_COUNT
from tflgpu.runtime.plan.codec import Int32, decode, encode
from tflgpu.runtime.plan.file import FORMAT_VERSION, HEADER, IDENTIFIER, MAGIC, from_bytes, to_bytes
from tflgpu.runtime.plan.validate import validate


def sealed(body: bytes) -> bytes:
    """A file whose header fits a body that need not make sense."""
    return HEADER.pack(MAGIC, FORMAT_VERSION, hashlib.sha256(body).digest()) + body


def valid_or_refused(body: bytes) -> None:
    """A plan within its limits comes out, or a PlanError; never another exception."""
    try:
        plan = from_bytes(sealed(body))
    except PlanError:
        return
    validate(plan)
    assert from_bytes(to_bytes(plan)) == plan


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_several_bytes_may_change(data: st.DataObject) -> None:
    body = bytearray(encode(complete(), IDENTIFIER))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(body) - 1))
        body[position] = data.draw(st.integers(0, 255))
    valid_or_refused(bytes(body))


@given(st.binary(max_size=200))
def test_noise_is_refused(body: bytes) -> None:
    for content in (body, body[:4] + IDENTIFIER + body[4:]):
        with pytest.raises(PlanError, match="is malformed"):
            from_bytes(sealed(content))


def test_any_byte_may_change() -> None:
    """In its lowest bit, its highest or all of them, in turns."""
    body = bytearray(encode(complete(), IDENTIFIER))
    for position in range(len(body)):
        mask = (0x01, 0x80, 0xFF)[position % 3]
        body[position] ^= mask
        valid_or_refused(bytes(body))
        body[position] ^= mask


def test_any_word_may_be_anything() -> None:
    """Each aligned word in turn is an offset, a count or a number of its own."""
    body = encode(complete(), IDENTIFIER)
    for position in range(0, len(body), 4):
        for value in (0, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, len(body) - position):
            word = value.to_bytes(4, "little")
            valid_or_refused(body[:position] + word + body[position + 4 :])


def test_the_end_may_be_missing() -> None:
    body = encode(complete(), IDENTIFIER)
    for length in range(len(body)):
        valid_or_refused(body[:length])


@dataclass(frozen=True)
class Leaf:
    numbers: tuple[Int32, ...]


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]


def tree(leaves: int, numbers: int) -> bytes:
    """A buffer whose leaves are all one and the same."""
    builder = flatbuffers.Builder()
    builder.StartVector(4, numbers, 4)
    for number in range(numbers):
        builder.PrependInt32(number)
    content = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, content, 0)
    leaf = builder.EndObject()
    builder.StartVector(4, leaves, 4)
    for _ in range(leaves):
        builder.PrependUOffsetTRelative(leaf)
    vector = builder.EndVector()
    builder.StartObject(1)
    builder.PrependUOffsetTRelativeSlot(0, vector, 0)
    builder.Finish(builder.EndObject(), file_identifier=b"TREE")
    return bytes(builder.Output())


def test_an_object_has_its_bytes_to_itself() -> None:
    """Otherwise 160 KB could hold 400 million numbers."""
    assert decode(Tree, tree(1, 3), b"TREE") == Tree((Leaf((2, 1, 0)),))
    with pytest.raises(ValueError, match=r"no room for 80004 bytes at byte"):
        decode(Tree, tree(20_000, 20_000), b"TREE")


@dataclass(frozen=True)
class Named:
    name: str


def named(back: int = 8, size: int = 8, field: int = 4, length: int = 3) -> bytes:
    """A buffer written by hand; the parameters are numbers that lead somewhere."""
    vtable = struct.pack("<HHHxx", 6, size, field)
    table = struct.pack("<iI", back, 4)
    return struct.pack("<I4s", 16, b"NAME") + vtable + table + struct.pack("<I4s", length, b"abc")


def test_a_buffer_written_by_hand_is_read() -> None:
    assert decode(Named, named(), b"NAME") == Named("abc")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"length": 5}, "no room for 9 bytes at byte 24 of 32"),
        ({"size": 17}, "no room for 17 bytes at byte 16 of 32"),
        ({"back": 18}, "a vtable at byte -2"),
        ({"back": -16}, "unpack_from requires a buffer"),
        ({"field": 5}, "Named.name leaves its table"),
        ({"field": 0}, "Named.name is missing"),
    ],
)
def test_nothing_is_read_out_of_bounds(changed: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode(Named, named(**changed), b"NAME")


def test_vectors_are_bounded() -> None:
    largest = Leaf(tuple(range(LARGEST_COUNT)))
    written = encode(largest, b"LEAF")
    assert decode(Leaf, written, b"LEAF") == largest
    # The count, then the first two elements.
    first, more = (struct.pack("<3I", LARGEST_COUNT + extra, 0, 1) for extra in (0, 1))
    with pytest.raises(ValueError, match=f"a vector of {LARGEST_COUNT + 1} elements"):
        decode(Leaf, written.replace(first, more) + bytes(64), b"LEAF")
    with pytest.raises(ValueError, match=f"a vector of {LARGEST_COUNT + 1} elements"):
        encode(Leaf((*largest.numbers, 0)), b"LEAF")


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1, 1.5])
def test_numbers_that_do_not_fit_are_not_written(number: Any) -> None:
    with pytest.raises(ValueError, match=r"format|argument"):
        encode(Leaf((number,)), b"LEAF")
