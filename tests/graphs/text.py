"""Small models from text, in the format that the compiler prints graphs in.

    input x float32[1,5,7,3]
    constant w float32[11,1,1,3]
    constant axes int32[2] = 1, 2
    t = CONV_2D(x, w) padding=VALID stride_h=1 stride_w=1
    y = MEAN(t, axes) keep_dims=True
    output y

Behind a constant may follow what it holds, one number for all elements or one for each; behind it
or an input, how it is drawn: `input x float32[7] deep`.
"""

import re
from collections.abc import Iterator

import numpy as np

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Shape
from tflgpu.compiler.ir.parse import Parser
from tflgpu.compiler.ops import OPS

from .build import Model
from .draws import drawn

_DECLARATION = re.compile(r"((?:input|constant) (\S+) \w+\[.*?\])(?: = (.+)| (.+))?")


def parsed(*texts: str, **dtypes: str) -> Model:
    """The model of a text, or of several, whose tensors then have names such as 0/x.

    Results are float32 but those whose type a keyword says.
    """
    graph = Graph()
    inputs: dict[str, Array] = {}
    for number, text in enumerate(texts):
        reading = _Reading(text)
        prefix = f"{number}/" if len(texts) > 1 else ""
        for name, tensor in reading.parser.tensors.items():
            tensor.name, tensor.dtype = f"{prefix}{name}", dtypes.get(name, tensor.dtype)
        for op in reading.parser.ops:
            op.index = len(graph)
            for tensor, shape in zip(op.outputs, OPS[op.name].infer(op), strict=True):
                tensor.shape = tuple(map(int, shape))
            graph.add(op)
        graph.inputs += reading.parser.inputs
        graph.outputs += reading.parser.outputs
        for tensor in reading.parser.inputs:
            name = tensor.name.removeprefix(prefix)
            inputs[tensor.name] = reading.content(name, tensor.shape, tensor.dtype)
    graph.input_names = [tensor.name for tensor in graph.inputs]
    graph.output_names = [tensor.name for tensor in graph.outputs]
    return Model(graph, write(graph), inputs)


class _Reading:
    """The lines of a text read, and what they say that inputs and constants hold."""

    def __init__(self, text: str) -> None:
        self._numbers: dict[str, str] = {}
        self._draws: dict[str, str] = {}
        self.parser = Parser(self.content)
        for line in lines(text):
            if match := _DECLARATION.fullmatch(line):
                line, name, numbers, draw = match.groups()
                self._numbers |= {name: numbers} if numbers else {}
                self._draws |= {name: draw} if draw else {}
            self.parser.read(line)

    def content(self, name: str, shape: Shape, dtype: str) -> Array:
        """What an input or constant of that name holds."""
        if name in self._numbers:
            values = [float(number) for number in self._numbers[name].split(",")]
            return np.resize(values, shape).astype(dtype)
        assert name in self._draws or dtype == "float32", f"say what {name} holds"
        return drawn(name, shape, self._draws.get(name, "normal"), dtype)


def lines(text: str) -> Iterator[str]:
    """The lines of a text that say something, without what indents them."""
    return filter(None, map(str.strip, text.splitlines()))
