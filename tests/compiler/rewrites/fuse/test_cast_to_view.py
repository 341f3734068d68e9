"""Casts between types that the device holds alike launch nothing."""

import pytest
from graphs import Input, Value, call, typed
from rewriting import kernels, rewritten

from tflgpu.compiler.rewrites.fuse.cast_to_view import cast_to_view

ALIKE = [
    ("float16", "float32"),
    ("int64", "int32"),
    ("int32", "int64"),
    ("int16", "int32"),
    ("bool", "int32"),
]
OTHERS = [
    ("float32", "float16"),  # Rounds.
    ("int32", "int16"),  # Wraps.
    ("int32", "bool"),  # Compares.
    ("int8", "uint8"),
    ("int8", "int32"),  # Has other bytes.
    ("int32", "float32"),
]


def cast(before: str, after: str) -> Value:
    return typed(after, "CAST", Input((2, 3), dtype=before, draw="counts"))


@pytest.mark.parametrize(("before", "after"), ALIKE)
def test_they_are_views(before: str, after: str) -> None:
    graph, _ = rewritten(cast(before, after), cast_to_view)
    (op,) = graph.ops
    assert (op.name, op.operand(0).dtype, op.output.dtype) == ("tflgpu.view", before, after)


@pytest.mark.parametrize(("before", "after"), OTHERS)
def test_others_are_computed(before: str, after: str) -> None:
    graph, events = rewritten(cast(before, after), cast_to_view)
    assert [op.name for op in graph.ops] == ["CAST"] and not events


def test_they_launch_nothing() -> None:
    assert kernels(call("EXP", cast("float16", "float32"))) == 1
