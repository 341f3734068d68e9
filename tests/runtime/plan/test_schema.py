"""The schema of plans: flatc and the codec read what the other writes."""

import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import pytest
from devices import need_programs
from paths import ROOT
from plans import complete

from tflgpu.runtime.plan import codec
from tflgpu.runtime.plan.buffer import VTABLE_OFFSET, Buffer
from tflgpu.runtime.plan.codec import decode, encode
from tflgpu.runtime.plan.file import IDENTIFIER
from tflgpu.runtime.plan.records import Memory, Plan, TensorInfo, Variable

SCHEMA = ROOT / "docs" / "plan.fbs"


def flatc(folder: Path, *arguments: str | Path) -> None:
    """Run flatc, which writes into `folder`."""
    need_programs("flatc")
    command = ["flatc", "-o", str(folder), *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


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


# No valid plan, but one that can be written down.
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

PLANS = {"complete": complete(), "extremes": EXTREMES}


@pytest.mark.parametrize("case", PLANS)
def test_flatc_reads_what_the_codec_writes(case: str, tmp_path: Path) -> None:
    (tmp_path / "written.bin").write_bytes(encode(PLANS[case], IDENTIFIER))
    options = ("--json", "--strict-json", "--defaults-json")
    flatc(tmp_path, *options, SCHEMA, "--", tmp_path / "written.bin")
    printed = json.loads((tmp_path / "written.json").read_text(encoding="utf-8"))
    assert trimmed(printed) == trimmed(with_extents(as_json(PLANS[case])))


@pytest.mark.parametrize("case", PLANS)
def test_all_lies_where_readers_without_unaligned_access_need_it(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    places: set[tuple[type, int, int]] = set()

    def noted(read: Callable[..., Any]) -> Callable[..., Any]:
        def reading(self: Any, buffer: Buffer, slot: int) -> Any:
            places.add((type(self), self.alignment, slot % self.alignment))
            return read(self, buffer, slot)

        return reading

    follow = Buffer._follow

    def following(self: Buffer, slot: int) -> int:
        place = follow(self, slot)
        places.add((Buffer, 4, place % 4))
        return place

    def vector(self: Buffer, slot: int, element_size: int) -> tuple[int, int]:
        start, count = original(self, slot, element_size)
        if element_size in (1, 2, 4, 8):
            places.add((list, element_size, start % element_size))
        return start, count

    def table(self: Buffer, slot: int, field_count: int) -> tuple[int, int, Sequence[int]]:
        start, size, offsets = original_table(self, slot, field_count)
        (back,) = VTABLE_OFFSET.unpack_from(self.data, start)
        places.add((Buffer, 2, (start - back) % 2))
        return start, size, offsets

    original, original_table = Buffer.vector, Buffer.table
    for kind in (codec._Scalar, codec._Struct, codec._Table):
        monkeypatch.setattr(kind, "read", noted(kind.read))
    monkeypatch.setattr(Buffer, "_follow", following)
    monkeypatch.setattr(Buffer, "vector", vector)
    monkeypatch.setattr(Buffer, "table", table)
    decode(Plan, encode(PLANS[case], IDENTIFIER), IDENTIFIER)
    alignments = {(kind, alignment) for kind, alignment, _ in places}
    assert alignments >= {(codec._Scalar, 8), (codec._Struct, 8), (list, 4), (Buffer, 4)}
    assert {rest for *_, rest in places} == {0}


@pytest.mark.parametrize("case", PLANS)
def test_the_codec_reads_what_flatc_writes(case: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(json.dumps(with_extents(as_json(PLANS[case]))))
    flatc(tmp_path, "--binary", SCHEMA, tmp_path / "plan.json")
    assert decode(Plan, (tmp_path / "plan.tflgpu").read_bytes(), IDENTIFIER) == PLANS[case]
