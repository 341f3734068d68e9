"""Operators as text, one per line: what `tflgpu explain --dump` writes and tests of rewrites read.

    input x float32[1, 8, 8, 3]
    constant w float32[4, 3, 3, 3]
    t = CONV_2D(x, w, none) padding=SAME
    y = ADD(t, r)
    output y

A tensor whose slices are stored as integers, bytes or shorts of 16 bits, is followed by the number
that a stored 0 stands for:

    y (bytes from -128) = tflgpu.requantize(s, scales) low=-128 high=127

A fused operator lists its outputs, and in braces the operators its kernel computes:

    y, t = { t = CONV_2D(x, w, none) | y = RELU6(t) }
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import ModelError
from .op import FusedOp, Op
from .tensor import WHOLE_BITS, Array, Shape, Tensor, Whole

_TENSOR = re.compile(r"(input|constant) (\S+) (\w+)\[(.*)\]")
_OUTPUT = re.compile(r"output (.+)")
_OPERATOR = re.compile(r"(.+) = ([\w.]+)\((.*?)\)(.*)")
_RESULT = re.compile(r"(\S+?)(?: \((signed )?(bytes|shorts) from (-?\d+)\))?")
_ATTRIBUTE = re.compile(r"(\w+)=(\S+)")

Draw = Callable[[str, Shape, str], Array]
"""Returns the content of a constant of the given name, shape and dtype."""


def to_text(ops: Iterable[Op]) -> str:
    """One line per operator."""
    return "\n".join(map(line, ops))


def line(op: Op) -> str:
    """One operator as text."""
    results = ", ".join(map(_result, op.outputs))
    if isinstance(op, FusedOp):
        return f"{results} = {{ {' | '.join(map(line, op.ops))} }}"
    operands = ", ".join("none" if t is None else t.name for t in op.inputs)
    attrs = "".join(f" {key}={_value(value)}" for key, value in op.attrs.items())
    return f"{results} = {op.name}({operands}){attrs}"


def _result(tensor: Tensor) -> str:
    """The name and, if its elements are stored as integers, how."""
    whole = tensor.whole
    if whole is None:
        return tensor.name
    return f"{tensor.name} ({'signed ' * whole.signed}{whole.called} from {whole.base})"


def _value(value: Any) -> str:
    return str(value).replace(" ", "")


class Parser:
    """Reads unfused operators and tensor declarations; results of operators get no shape yet."""

    def __init__(self, draw: Draw) -> None:
        """`draw` returns the content of constants."""
        self._draw = draw
        self.tensors: dict[str, Tensor] = {}
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.ops: list[Op] = []

    def read(self, text: str) -> None:
        """Read every line (ModelError that quotes an invalid one)."""
        for own in filter(None, map(str.strip, text.splitlines())):
            if match := _TENSOR.fullmatch(own):
                self._declare(*match.groups())
            elif match := _OUTPUT.fullmatch(own):
                self.outputs += [self._known(name, own) for name in match[1].split(", ")]
            elif match := _OPERATOR.fullmatch(own):
                self._add(own, *match.groups())
            else:
                raise ModelError(f"not an operator, input, constant or output: {own}")

    def _declare(self, kind: str, name: str, dtype: str, sizes: str) -> None:
        shape = tuple(int(size) for size in sizes.split(",") if size.strip())
        tensor = self.tensors[name] = Tensor(name, shape, dtype)
        if kind == "input":
            self.inputs.append(tensor)
        else:
            tensor.data = self._draw(name, shape, dtype)

    def _add(self, own: str, results: str, name: str, operands: str, attributes: str) -> None:
        inputs = [
            None if operand == "none" else self._known(operand, own)
            for operand in filter(None, operands.split(", "))
        ]
        outputs = []
        for result in results.split(", "):
            match = _RESULT.fullmatch(result)
            if match is None:
                raise ModelError(f"{result} is not a tensor: {own}")
            whole = None
            if match[3]:
                whole = Whole(WHOLE_BITS[match[3]], int(match[4]), bool(match[2]))
            outputs.append(Tensor(match[1], (), whole=whole))
        self.tensors |= {tensor.name: tensor for tensor in outputs}
        attrs = {key: _literal(value) for key, value in _ATTRIBUTE.findall(attributes)}
        self.ops.append(Op(name, inputs, outputs, attrs, len(self.ops)))

    def _known(self, name: str, own: str) -> Tensor:
        if name not in self.tensors:
            raise ModelError(f"the tensor {name} is not declared before it is used: {own}")
        return self.tensors[name]


def _literal(text: str) -> Any:
    """A Python literal, or the text itself if it is not one."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text
