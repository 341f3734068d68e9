"""Plans as flatbuffers: the codec agrees with plan.fbs and flatc, and refuses hostile buffers."""

import hashlib
import json
import shutil
import struct
import subprocess
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import IntEnum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import flatbuffers
import pytest
from conftest import unavailable
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import complete

from tflgpu.runtime.errors import PlanError
from tflgpu.runtime.plan import records
from tflgpu.runtime.plan.buffer import LARGEST_COUNT
from tflgpu.runtime.plan.codec import decode, encode
from tflgpu.runtime.plan.file import FORMAT_VERSION, HEADER, IDENTIFIER, MAGIC, from_bytes, to_bytes
from tflgpu.runtime.plan.records import (
    Extent,
    Int32,
    Int64,
    Memory,
    Plan,
    Region,
    TensorInfo,
    UInt8,
    Variable,
)
from tflgpu.runtime.plan.validate import validate

SCHEMA = Path(records.__file__).parent / "plan.fbs"


def flatc(folder: Path, *arguments: str | Path) -> None:
    """Run flatc, which writes into `folder`."""
    if shutil.which("flatc") is None:
        unavailable("flatc is not installed")
    command = ["flatc", "-o", str(folder), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


# -- the schema -------------------------------------------------------------------------------
#
# `flatc --schema` writes a schema as a flatbuffer as well. These are the first fields of its
# tables; of 16-bit numbers, the low byte is enough.
# https://github.com/google/flatbuffers/blob/v2.0.8/reflection/reflection.fbs


@dataclass(frozen=True)
class SchemaType:
    base: UInt8 = 0
    element: UInt8 = 0
    index: Int32 = -1
    absent: str = ""
    """Beyond the fields that are read; makes it a table, not a struct."""


@dataclass(frozen=True)
class SchemaEnumValue:
    name: str
    value: Int64 = 0


@dataclass(frozen=True)
class SchemaEnum:
    name: str
    values: tuple[SchemaEnumValue, ...]


@dataclass(frozen=True)
class SchemaField:
    name: str
    type: SchemaType
    id: UInt8 = 0
    offset: UInt8 = 0
    default_integer: Int64 = 0
    default_real: float = 0.0
    deprecated: bool = False
    required: bool = False
    key: bool = False
    attributes: tuple[SchemaEnumValue, ...] = ()
    documentation: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class SchemaObject:
    name: str
    fields: tuple[SchemaField, ...]
    is_struct: bool = False


@dataclass(frozen=True)
class Schema:
    objects: tuple[SchemaObject, ...]
    enums: tuple[SchemaEnum, ...]


SCALARS = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
SCALARS += ["float32", "float64"]
BASES = dict(enumerate([*SCALARS, "string"], 2))
VECTOR, OBJECT = 14, 15
"""Values of reflection.BaseType."""


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    """plan.fbs as flatc understands it."""
    folder = tmp_path_factory.mktemp("schema")
    flatc(folder, "--binary", "--schema", SCHEMA)
    return decode(Schema, (folder / "plan.bfbs").read_bytes(), b"BFBS")


def declared(schema: Schema, item: SchemaObject) -> list[str]:
    """The fields of a table or struct in their order, as in `shape: [uint32] (required)`."""
    lines = []
    for field in sorted(item.fields, key=lambda field: field.id):
        kind = field.type
        vector = kind.base == VECTOR
        base = kind.element if vector else kind.base
        if base == OBJECT:
            name = schema.objects[kind.index].name
        elif kind.index >= 0:
            name = schema.enums[kind.index].name
        else:
            name = BASES[base]
        if field.required:
            default = " (required)"
        elif field.optional:
            default = " = null" if base != OBJECT and BASES[base] != "string" else ""
        elif vector or base == OBJECT or BASES[base] == "string":
            default = ""
        else:
            default = f" = {field.default_real or field.default_integer:g}"
        lines.append(f"{field.name}: {f'[{name}]' if vector else name}{default}")
    return lines


def expected(record: Any) -> list[str]:
    """The same lines for a dataclass."""
    lines = []
    for item in fields(record):
        hint, has_default = item.type, item.default is not MISSING
        value: Any = item.default if has_default else 0
        optional = NoneType in get_args(hint)
        if optional:
            (hint,) = set(get_args(hint)) - {NoneType}
        name = type_name(hint)
        if name in SCALARS or name == "Region":
            default = " = null" if optional else f" = {int(value)}"
        else:
            default = "" if has_default else " (required)"
        lines.append(f"{item.name}: {name}{default}")
    return lines


def type_name(hint: Any) -> str:
    if hint == Extent:
        return "Extent"
    if get_origin(hint) is Annotated:
        return str(get_args(hint)[1])
    if get_origin(hint) is tuple:
        element, more = get_args(hint)
        assert more is ...
        return f"[{type_name(element)}]"
    plain = {bool: "bool", float: "float64", str: "string", bytes: "[uint8]"}
    return plain.get(hint) or str(hint.__name__)


RECORDS = {
    name: item
    for name, item in vars(records).items()
    if isinstance(item, type) and is_dataclass(item)
}


def test_the_schema_describes_the_records(schema: Schema) -> None:
    found = {item.name: declared(schema, item) for item in schema.objects}
    extent = ["x: uint32 = 0", "y: uint32 = 0", "z: uint32 = 0"]
    assert found == {name: expected(item) for name, item in RECORDS.items()} | {"Extent": extent}
    assert {item.name for item in schema.objects if item.is_struct} == {
        *("Argument", "Extent", "Memory")
    }


def test_the_schema_has_the_same_regions(schema: Schema) -> None:
    (enum,) = schema.enums
    assert enum.name == "Region"
    assert {item.name: item.value for item in enum.values} == {
        region.name: region.value for region in Region
    }


# -- against flatc ----------------------------------------------------------------------------


def as_json(value: Any) -> Any:
    """A record as flatc prints it."""
    if is_dataclass(value):
        return {item.name: as_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, bytes):
        return list(value)
    if isinstance(value, tuple):
        return [as_json(item) for item in value]
    return value


def trimmed(value: Any) -> Any:
    """Without what is null or empty, which flatc prints or not, as it is in the file or not."""
    if isinstance(value, dict):
        pairs = {name: trimmed(item) for name, item in value.items()}
        return {name: item for name, item in pairs.items() if item not in (None, "", [])}
    return [trimmed(item) for item in value] if isinstance(value, list) else value


def with_extents(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan with its groups and grids as flatc prints structs."""
    for items, field in ((plan["kernels"], "group"), (plan["dispatches"], "grid")):
        for item in items:
            item[field] = dict(zip("xyz", item[field], strict=True))
    return plan


EXTREMES = replace(
    complete(),
    model="größe \U0001f600 \0\n",
    options="",
    arena_size=(1 << 64) - 1,
    outputs=(
        TensorInfo("", (), "float32", -0.25, -(1 << 63), True),
        TensorInfo("z", (0, (1 << 32) - 1), "int8", 1e300, (1 << 63) - 1),
    ),
    variables=(Variable("none", 0), Variable("first", 8, 0), Variable("last", 8, (1 << 64) - 1)),
    memory=Memory(1, 2, (1 << 64) - 1),
)
"""No valid plan, but one that can be written down."""

PLANS = {"complete": complete(), "extremes": EXTREMES}


@pytest.mark.parametrize("case", PLANS)
def test_flatc_reads_what_the_codec_writes(case: str, tmp_path: Path) -> None:
    (tmp_path / "written.bin").write_bytes(encode(PLANS[case], IDENTIFIER))
    options = ("--json", "--strict-json", "--defaults-json")
    flatc(tmp_path, *options, SCHEMA, "--", tmp_path / "written.bin")
    printed = json.loads((tmp_path / "written.json").read_text(encoding="utf-8"))
    assert trimmed(printed) == trimmed(with_extents(as_json(PLANS[case])))


@pytest.mark.parametrize("case", PLANS)
def test_the_codec_reads_what_flatc_writes(case: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(with_extents(as_json(PLANS[case]))))
    flatc(tmp_path, "--binary", SCHEMA, tmp_path / "plan.json")
    assert decode(Plan, (tmp_path / "plan.tflgpu").read_bytes(), IDENTIFIER) == PLANS[case]


# -- hostile buffers --------------------------------------------------------------------------


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


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_any_byte_may_change(mask: int) -> None:
    body = bytearray(encode(complete(), IDENTIFIER))
    for position in range(len(body)):
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
    assert decode(Leaf, encode(largest, b"LEAF"), b"LEAF") == largest
    longer = encode(Leaf((*largest.numbers, 0)), b"LEAF")
    with pytest.raises(ValueError, match=f"a vector of {LARGEST_COUNT + 1} elements"):
        decode(Leaf, longer, b"LEAF")


@pytest.mark.parametrize("number", [1 << 31, -(1 << 31) - 1, 1.5])
def test_numbers_that_do_not_fit_are_not_written(number: Any) -> None:
    with pytest.raises((TypeError, struct.error)):
        encode(Leaf((number,)), b"LEAF")
