"""TOPK_V2 and sorts of long rows in steps: tflgpu.top_of_blocks, then tflgpu.merge_tops repeatedly.

Each step keeps the first `count` values of every stretch of a row, in the order that `falling` and
`nan_first` say, with their positions in the whole row. A stretch of the first step is a block of
`length` values; a stretch of a merge is `lists` lists of the previous step, each of `length` values
except that the last list of a row may be shorter.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir import Op, Shape
from ..target import Target
from .base import ANY, LINEAR, Build, Implementation, Launch, OpDef, define

BLOCKS = "tflgpu.top_of_blocks"
MERGE = "tflgpu.merge_tops"


def _span(op: Op) -> int:
    """Values of a stretch."""
    return int(op.attrs["length"] * op.attrs.get("lists", 1))


def infer(op: Op) -> list[Shape]:
    """Values and positions kept of each row: at most `count` per stretch."""
    *rows, size = op.operand(0).shape
    whole, rest = divmod(size, _span(op))
    count = op.attrs["count"]
    return [(*rows, whole * min(count, _span(op)) + min(count, rest))] * 2


def _launch(op: Op, template: str, steps: int) -> Sequence[Launch]:
    """One work-item per value, which takes `steps` comparisons with others."""
    values = op.operand(0)
    size, span = values.shape[-1], _span(op)
    blocks = -(-size // span)
    reads = dict(zip(("x", "origins"), op.reads, strict=False))
    return [
        Launch(
            template,
            (min(span, size), blocks * (values.elements // size), 1),
            reads,
            {"y": op.outputs[0], "places": op.outputs[1]},
            variables={
                **op.attrs,
                "count": min(op.attrs["count"], span),
                "size": size,
                "blocks": blocks,
                "kept": op.output.shape[-1],
                "step": 1 << (op.attrs["length"].bit_length() - 1),
            },
            flops=values.elements * steps,
        )
    ]


def _build_blocks(op: Op, target: Target) -> Sequence[Launch]:
    return _launch(op, "sort/top_blocks.jinja", op.attrs["length"])


def _build_merge(op: Op, target: Target) -> Sequence[Launch]:
    return _launch(op, "sort/top_merge.jinja", op.attrs["lists"] * op.attrs["length"].bit_length())


def _kernel(name: str, build: Build) -> tuple[Implementation]:
    return (Implementation(name, build, reads=LINEAR, writes=LINEAR, fuses=False),)


define(
    OpDef(BLOCKS, infer, _kernel("top_blocks", _build_blocks), dtypes=ANY),
    OpDef(MERGE, infer, _kernel("top_merge", _build_merge), dtypes=ANY),
)
