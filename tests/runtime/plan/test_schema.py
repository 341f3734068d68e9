"""plan.fbs describes the records, and flatc and the codec read what the other writes."""

import json
import subprocess
from dataclasses import MISSING, dataclass, fields, is_dataclass, replace
from enum import IntEnum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import pytest
from devices import need_programs
from plans import complete

from tflgpu.runtime.plan import kernels, records, running
from tflgpu.runtime.plan.codec import Extent, Int32, Int64, UInt8, decode, encode
from tflgpu.runtime.plan.file import IDENTIFIER
from tflgpu.runtime.plan.records import Memory, Plan, TensorInfo, Variable

SCHEMA = Path(records.__file__).parent / "plan.fbs"


def flatc(folder: Path, *arguments: str | Path) -> None:
    """Run flatc, which writes into `folder`."""
    need_programs("flatc")
    command = ["flatc", "-o", str(folder), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


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


INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
SCALARS = ("bool", *INTEGERS, "float32", "float64")
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
        elif vector or base == OBJECT or BASES[base] == "string":
            default = ""
        elif field.optional:
            default = " = null"
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
        if name in SCALARS or name in ENUMS:
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


NAMED = {
    name: item
    for module in (records, kernels, running)
    for name, item in vars(module).items()
    if isinstance(item, type)
}
RECORDS = {name: item for name, item in NAMED.items() if is_dataclass(item)}
ENUMS = {
    name: item for name, item in NAMED.items() if issubclass(item, IntEnum) and item is not IntEnum
}


def test_the_schema_describes_the_records(schema: Schema) -> None:
    found = {item.name: declared(schema, item) for item in schema.objects}
    extent = ["x: uint32 = 0", "y: uint32 = 0", "z: uint32 = 0"]
    assert found == {name: expected(item) for name, item in RECORDS.items()} | {"Extent": extent}
    assert {item.name for item in schema.objects if item.is_struct} == {
        *("Argument", "Body", "Extent", "Memory", "Submission", "TensorBuffer")
    }


def test_the_schema_has_the_same_enums(schema: Schema) -> None:
    found = {enum.name: {item.name: item.value for item in enum.values} for enum in schema.enums}
    assert found == {name: dict(item.__members__) for name, item in ENUMS.items()}


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
    extents = (
        (plan["kernels"], "group"),
        (plan["dispatches"], "grid"),
        *(([plan["needs"]], field) for field in ("group_sizes", "group_counts")),
    )
    for items, field in extents:
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
