"""Reads graphs from text, in the format that `text` writes."""

import ast
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError
from .fused import FusedOp
from .graph import Graph
from .op import Op
from .tensor import WHOLE_BITS, Array, Shape, Tensor, Whole

_NAME = r'("(?:[^"\\]|\\.)*"|[^\s,"=(){}|]+)'
_TYPE = r"(\w+)\[([^\]]*)\]"
_TENSOR = re.compile(rf"(input|constant|variable) {_NAME} {_TYPE}(?: = (.+))?")
_OUTPUT = re.compile(r"output (.+)")
_KEPT = re.compile(rf"keep {_NAME} as {_NAME}")
_RESULT = re.compile(rf"{_NAME}(?:: {_TYPE})?(?: \((signed )?(bytes|shorts) from (-?\d+)\))?")
_OPERAND = re.compile(_NAME)
_PLAIN = re.compile(r'([\w.]+)\(((?:"(?:[^"\\]|\\.)*"|[^")])*)\)((?: \w+=\S+)*)')
_FUSED = re.compile(r"(?:([\w.]+) )?\{ (.*) \}")
_ATTRIBUTE = re.compile(r"(\w+)=(\S+)")
# The numpy type that holds the content of types that numpy lacks, as the frontend reads them.
_HELD = {
    **dict.fromkeys(("int2", "int4"), "int8"),
    **dict.fromkeys(("uint4", "float8_e4m3fn", "float8_e5m2"), "uint8"),
    "bfloat16": "float32",
}
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')

# Returns the content of a constant of the given name, shape and dtype.
Draw = Callable[[str, Shape, str], Array]

Infer = Callable[[Op], Sequence[Shape]]  # Returns the shapes of an operator's results.


class Parser:
    """Reads declarations and operators; what a line says of shapes and types holds."""

    def __init__(self, draw: Draw, infer: Infer | None = None) -> None:
        """`draw` returns the content of constants whose text does not say it; `infer` the shapes
        of results that have no type, which are left empty otherwise."""
        self._draw, self._infer = draw, infer
        self.tensors: dict[str, Tensor] = {}
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.kept: dict[Tensor, Tensor] = {}
        self.ops: list[Op] = []

    def read(self, text: str) -> None:
        """Read every line (ModelError that quotes an invalid one)."""
        for own in filter(None, map(str.strip, text.splitlines())):
            try:
                self._read(own)
            except (MemoryError, OverflowError, TypeError, ValueError) as error:
                raise ModelError(f"this line is not valid ({error}): {own}") from error

    def _read(self, own: str) -> None:
        if match := _TENSOR.fullmatch(own):
            self._declare(own, *match.groups())
        elif match := _OUTPUT.fullmatch(own):
            self.outputs += self._operands(match[1], own)
        elif match := _KEPT.fullmatch(own):
            last, variable = (self._known(name, own) for name in match.groups())
            self.kept[last] = variable
        else:
            self.ops.append(self._operator(own))

    def graph(self) -> Graph:
        """The graph of what has been read; its inputs and outputs have the names of tensors."""
        graph = Graph()
        graph.inputs, graph.outputs, graph.kept = self.inputs, self.outputs, self.kept
        for op in self.ops:
            graph.add(op)
        graph.input_names = [tensor.name for tensor in graph.inputs]
        graph.output_names = [tensor.name for tensor in graph.outputs]
        return graph

    def _declare(
        self, own: str, kind: str, quoted: str, dtype: str, sizes: str, content: str | None
    ) -> None:
        name, shape = _unquoted(quoted), _shape(sizes)
        tensor = self.tensors[name] = Tensor(name, shape, dtype)
        if kind == "input":
            self.inputs.append(tensor)
        elif kind == "variable":
            tensor.variable = True
        elif content is None:
            tensor.content = self._draw(name, shape, _held(dtype))
        else:
            values = [_number(number) for number in content.split(",")]
            tensor.content = np.resize(values, shape).astype(_held(dtype))

    def _operator(self, own: str) -> Op:
        results, text = _halves(own)
        if match := _FUSED.fullmatch(text):
            return self._fused(own, results, *match.groups())
        match = _PLAIN.fullmatch(text)
        if match is None:
            raise ModelError(f"not an operator, a declaration or an output: {own}")
        name, operands, attributes = match.groups()
        inputs = self._operands(operands, own, optional=True)
        outputs, untyped = self._results(results, own)
        attrs = {key: _literal(value) for key, value in _ATTRIBUTE.findall(attributes)}
        op = Op(name, inputs, outputs, attrs, len(self.ops))
        if untyped and self._infer is not None:
            for tensor, shape in zip(outputs, self._infer(op), strict=True):
                tensor.shape = tuple(map(int, shape))
        return op

    def _fused(self, own: str, results: str, name: str | None, text: str) -> FusedOp:
        core, *epilogue = _split(text, " | ")
        first = [self._operator(part) for part in _split(core, "; ")]
        rest = [self._operator(part) for part in epilogue]
        outputs = self._operands(_untyped(results), own)
        fused = FusedOp(name or first[-1].name, first, rest, outputs)
        fused.index = len(self.ops)
        return fused

    def _results(self, text: str, own: str) -> tuple[list[Tensor], bool]:
        """New tensors, and whether the shape of any is not said."""
        outputs, untyped = [], False
        for result in filter(None, _split(text, ", ")):
            match = _RESULT.fullmatch(result)
            if match is None:
                raise ModelError(f"{result} is not a tensor: {own}")
            name, dtype, sizes, signed, kind, base = match.groups()
            whole = Whole(WHOLE_BITS[kind], int(base), bool(signed)) if kind else None
            shape = _shape(sizes) if dtype else ()
            untyped = untyped or dtype is None
            outputs.append(Tensor(_unquoted(name), shape, dtype or "float32", whole=whole))
        self.tensors |= {tensor.name: tensor for tensor in outputs}
        return outputs, untyped

    def _operands(self, text: str, own: str, optional: bool = False) -> list[Any]:
        """Known tensors by name, None for one that is left out if that is allowed."""
        found: list[Tensor | None] = []
        for operand in filter(None, _split(text, ", ")):
            left_out = optional and operand == "none"
            found.append(None if left_out else self._known(operand, own))
        return found

    def _known(self, quoted: str, own: str) -> Tensor:
        name = _unquoted(quoted) if _OPERAND.fullmatch(quoted) else quoted
        if name not in self.tensors:
            raise ModelError(f"the tensor {name} is not declared before it is used: {own}")
        return self.tensors[name]


def _halves(own: str) -> tuple[str, str]:
    """What stands before, if anything, and behind the first ` = ` that is not part of a name."""
    results, *rest = _split(own, " = ")
    return (results, " = ".join(rest)) if rest else ("", own)


def _untyped(results: str) -> str:
    names = [_RESULT.fullmatch(result) for result in _split(results, ", ")]
    return ", ".join(match[1] for match in names if match)


def _split(text: str, separator: str) -> list[str]:
    """A text between separators that are not within quotes or brackets."""
    masked = _QUOTED.sub(lambda match: "q" * len(match[0]), text)
    parts, start = [], 0
    while (end := masked.find(separator, start)) >= 0:
        parts.append(text[start:end])
        start = end + len(separator)
    return [*parts, text[start:]]


def _unquoted(name: str) -> str:
    return str(json.loads(name)) if name.startswith('"') else name


def _held(dtype: str) -> str:
    """The numpy type of a constant's content."""
    return np.dtype(_HELD.get(dtype, dtype)).name


def _shape(sizes: str) -> Shape:
    return tuple(int(size) for size in sizes.split(",") if size.strip())


def _number(text: str) -> float:
    """A number, exactly if it is an integer; True and False count as 1 and 0."""
    own = text.strip()
    if own in ("True", "False"):
        return own == "True"
    return int(own) if own.lstrip("-").isdigit() else float(own)


def _literal(text: str) -> Any:
    """A Python literal, a float that has none, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return float(text) if text.lstrip("-") in ("inf", "nan") else text
