"""Post-operators as kernel text: what happens between a computed value and its store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from ..ir import Op, Tensor
from ..ops.base import device_dtype
from ..ops.elementwise import ELEMENTWISE

Operand = Callable[[Tensor], str]
"""The text that reads a tensor's element at the position of the store."""

NOTHING: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True)
class Step:
    """An elementwise operator: its operands are tensors, or numbers of values computed before."""

    name: str
    operands: tuple[Tensor | int, ...]
    attrs: Mapping[str, Any]

    @property
    def integers(self) -> bool:
        """Whether it computes with integers; values of other steps are floats."""
        last = self.operands[-1]
        return isinstance(last, Tensor) and device_dtype(last.dtype) == "int32"


def steps(op: Op) -> list[Step]:
    """The elementwise operators a kernel of `op` ends with.

    Value 0 is what the kernel computes itself; an elementwise operator computes it as its step 0.
    """
    chain = []
    if op.name in ELEMENTWISE:
        operands = tuple(tensor for tensor in op.inputs if tensor is not None)
        chain.append(Step(op.name, operands, op.attrs))
    for post in op.post:
        chosen = tuple(op.post_inputs[i] if i >= 0 else -1 - i for i in post.operands)
        chain.append(Step(post.name, chosen, post.attrs))
    return chain


def literal(value: float, dtype: str = "float32") -> str:
    """A constant in both languages: shortest digits that give the same float32, or an int32.

    >>> literal(0.1), literal(-6), literal(-6, "int32"), literal(-2147483648, "int32")
    ('0.1f', '-6.0f', '-6', '(-2147483647 - 1)')
    """
    if dtype == "int32":
        if np.isinf(value):
            value = 2**31 - 1 if value > 0 else -(2**31)
        whole = (int(value) + 2**31) % 2**32 - 2**31
        return str(whole) if whole > -(2**31) else f"({whole + 1} - 1)"
    number = np.float32(value)
    if np.isnan(number):
        return "NAN"
    if np.isinf(number):
        return "INFINITY" if number > 0 else "-INFINITY"
    text = np.format_float_scientific(number, trim="0", exp_digits=1)
    plain = np.format_float_positional(number, trim="0")
    return f"{plain if len(plain) <= len(text) else text}f"


def statements(
    chain: list[Step],
    value: str | None,
    kind: str,
    read: Operand,
    saves: Mapping[int, str] = NOTHING,
) -> list[str]:
    """Statements that leave the final value in `v`, of type `kind` (floatS or float).

    `value` is the text of what the kernel computed, None for an elementwise kernel; `saves` are
    statements that store values on the way, by the value's number.
    """
    lines = [] if value is None else [f"{kind} v = {value};"]
    lines += [saves[0]] if value is not None and 0 in saves else []
    first = 1 if value is not None else 0
    for number, step in enumerate(chain, start=first):
        texts = []
        for operand in step.operands:
            if isinstance(operand, Tensor):
                texts.append(read(operand))
            else:
                texts.append("v" if operand == number - 1 else f"v{operand}")
        expression = ELEMENTWISE[step.name].text(step.attrs, step.integers, kind == "floatS")
        for place, name in enumerate("abc"[: len(texts)]):
            if expression.count(f"{{{name}}}") > 1 and not texts[place].isidentifier():
                held = "int" if step.integers else kind
                lines.append(f"{held} {name}{number} = {texts[place]};")
                texts[place] = f"{name}{number}"
        attrs = {key: literal(v) for key, v in step.attrs.items() if isinstance(v, (int, float))}
        computed = expression.format(**dict(zip("abc", texts, strict=False)), **attrs)
        declaration = f"{kind} v" if number == 0 else "v"
        lines.append(f"{declaration} = {computed};  // {step.name}")
        lines += [saves[number]] if number in saves else []
        later = chain[number - first + 2 :]
        if any(number in following.operands for following in later):
            lines.append(f"{kind} v{number} = v;")
    if value is not None and any(0 in step.operands for step in chain[1:]):
        lines.insert(1, f"{kind} v0 = v;")
    return lines
