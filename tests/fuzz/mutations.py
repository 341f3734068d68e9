"""Mutations of models and plans: what a damaged, hand-made or hostile file may state.

Each changes a graph or a plan in place of a file's bytes, so that most results are still files that
a reader accepts, and what is odd about them reaches the stages behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import IntEnum
from functools import cache
from random import Random
from typing import Any
from zlib import crc32

import numpy as np
from cases import CASES
from graphs import model

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Tensor
from tflgpu.compiler.ops import OPS
from tflgpu.compiler.tflite_schema import option_table_of
from tflgpu.runtime.plan.records import Plan

NUMBERS = (0, 1, -1, 2, 3, 7, 127, 1 << 16, (1 << 31) - 1, -(1 << 31), 1 << 40)
DTYPES = ("float32", "float16", "int32", "int64", "int8", "uint8", "bool", "string", "complex64")
NAMES = ("", "a", "\x1b[2J", "x" * 5000, "\u202e", "a;b", "\x00", 'y"*/', "\\\n")
SCALES = (0.0, 1.0, -1.0, float("inf"), float("nan"), 1e-30, 1e30)

Mutation = Callable[[Random, Graph], None]


def _op(random: Random, graph: Graph) -> Op:
    return random.choice(graph.ops)


def _tensors(graph: Graph) -> list[Tensor]:
    found = dict.fromkeys(t for op in graph.ops for t in (*op.reads, *op.outputs))
    return list(found)


def change_operands(random: Random, graph: Graph) -> None:
    op = _op(random, graph)
    operands: list[Tensor | None] = list(op.inputs)
    kind = random.randrange(4)
    if kind == 0 and operands:
        operands.pop(random.randrange(len(operands)))
    elif kind == 1 and operands:
        operands[random.randrange(len(operands))] = None
    elif kind == 2:
        operands.insert(random.randint(0, len(operands)), random.choice(_tensors(graph)))
    else:
        random.shuffle(operands)
    op.set_operands(operands)


def change_results(random: Random, graph: Graph) -> None:
    op = _op(random, graph)
    outputs = list(op.outputs)
    if outputs and random.random() < 0.5:
        outputs.pop()
    else:
        outputs.append(Tensor("another", (2, 3)))
    op.outputs = tuple(outputs)


def change_shape(random: Random, graph: Graph) -> None:
    tensor = random.choice(_tensors(graph))
    shape = list(tensor.shape)
    kind = random.randrange(3)
    if kind == 0 and shape:
        shape[random.randrange(len(shape))] = random.choice((0, 1, 2, 5, 1000))
    elif kind == 1 and shape:
        shape.pop(random.randrange(len(shape)))
    else:
        shape.insert(random.randint(0, len(shape)), random.choice((0, 1, 2)))
    tensor.shape = tuple(shape)
    if tensor.data is not None:
        tensor.content = (
            np.resize(tensor.data, shape)
            if tensor.data.size
            else np.zeros(shape, tensor.data.dtype)
        )


def change_values(random: Random, graph: Graph) -> None:
    known = [t for t in _tensors(graph) if t.data is not None and t.data.dtype != object]
    if known:
        tensor = random.choice(known)
        data = np.array(tensor.data)
        if data.size:
            value: Any = random.choice(NUMBERS if data.dtype.kind in "iu" else (*NUMBERS, *SCALES))
            with np.errstate(all="ignore"):
                data.flat[random.randrange(data.size)] = np.array(value).astype(data.dtype)
        tensor.content = data


def change_type(random: Random, graph: Graph) -> None:
    tensor = random.choice(_tensors(graph))
    if tensor.data is None:
        tensor.dtype = random.choice(DTYPES)
    elif tensor.data.dtype != object:
        tensor.dtype = random.choice(("float32", "int32", "int64", "int8", "bool"))
        with np.errstate(all="ignore"):
            tensor.content = tensor.data.astype(tensor.dtype)


def change_option(random: Random, graph: Graph) -> None:
    op = _op(random, graph)
    attrs = dict(op.attrs)
    if attrs:
        key = random.choice(sorted(attrs))
        value = attrs[key]
        if isinstance(value, bool):
            attrs[key] = not value
        elif isinstance(value, int):
            attrs[key] = random.choice(NUMBERS[:-1])
        elif isinstance(value, float):
            attrs[key] = random.choice(SCALES)
        else:
            del attrs[key]
    if random.random() < 0.1:
        attrs = {}
    op.attrs = attrs


def change_operator(random: Random, graph: Graph) -> None:
    op = _op(random, graph)
    op.name = random.choice([name for name in OPS if not name.startswith("tflgpu.")])
    table = option_table_of(op.name)
    known = {field.key for field in table.fields} if table else set()
    op.attrs = {key: value for key, value in op.attrs.items() if key in known}


def change_quantization(random: Random, graph: Graph) -> None:
    tensor = random.choice(_tensors(graph))
    count = random.choice((1, 1, 2, 5))
    scale = tuple(random.choice(SCALES) for _ in range(count))
    zero_points = (random.choice(NUMBERS[:8]),) * count
    tensor.quantization = Quantization(scale, zero_points, random.randint(0, 3))


def change_name(random: Random, graph: Graph) -> None:
    random.choice(_tensors(graph)).name = random.choice(NAMES)


def change_variable(random: Random, graph: Graph) -> None:
    tensor = random.choice(_tensors(graph))
    if tensor.data is None:
        tensor.variable = not tensor.variable


def change_interface(random: Random, graph: Graph) -> None:
    kind = random.randrange(4)
    listed = graph.inputs if kind % 2 else graph.outputs
    names = graph.input_names if kind % 2 else graph.output_names
    if kind < 2 and listed:
        place = random.randrange(len(listed))
        del listed[place], names[place]
    else:
        tensor = random.choice(_tensors(graph))
        listed.append(tensor)
        names.append(tensor.name)


MUTATIONS: Sequence[Mutation] = (
    *(change_operands, change_results, change_shape, change_values, change_type, change_option),
    *(change_operator, change_quantization, change_name, change_variable, change_interface),
)

Mutations = tuple[tuple[int, int], ...]  # Mutations, each as its place in `MUTATIONS` and a seed.


@cache
def sound_model(seed: int) -> tuple[str, bytes]:
    """The name and the file of a sound model; one more case changes few other choices."""
    case = min(CASES, key=lambda case: crc32(f"{seed} {case.name}".encode()))
    return case.name, model({case.name: case.value}).content


def drawn_mutations(seed: int) -> Mutations:
    random = Random(seed)
    count = random.choice((1, 1, 1, 2, 3))
    return tuple((random.randrange(len(MUTATIONS)), random.getrandbits(32)) for _ in range(count))


def mutated_model(content: bytes, mutations: Mutations) -> bytes | None:
    """A model after mutations, each given by its number and a seed; None if no file can say it."""
    graph = read(content)
    for number, seed in mutations:
        if not graph.ops or not _tensors(graph):
            return None  # nothing is left to change
        MUTATIONS[number](Random(seed), graph)
    # The graph is only a list of operators for the writer: its edges no longer matter.
    again = Listed(graph)
    try:
        return write(again)
    except Exception:  # the writer is for sound graphs
        return None


class Listed(Graph):
    """Operators in their order in the file, whatever they read and write."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph.name)
        self._listed = graph.ops
        self.inputs, self.outputs = graph.inputs, graph.outputs
        self.input_names, self.output_names = graph.input_names, graph.output_names
        self.subgraphs = graph.subgraphs

    @property
    def ops(self) -> list[Op]:
        return list(self._listed)

    @property
    def tensors(self) -> list[Tensor]:
        found = dict.fromkeys([*self.inputs, *_tensors(self), *self.outputs])
        return list(found)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every number, text and empty list in a record."""
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from leaves(getattr(value, each.name), (*path, each.name))
    elif isinstance(value, tuple) and value:
        for position, item in enumerate(value):
            yield from leaves(item, (*path, position))
    else:
        yield path


def mutated_plan(plan: Plan, path: Sequence[str | int], random: Random) -> Plan:
    """A plan with another value at a path."""
    changed = _mutated(plan, path, random)
    assert isinstance(changed, Plan)
    return changed


def _mutated(value: Any, path: Sequence[str | int], random: Random) -> Any:
    if path:
        step, *rest = path
        if isinstance(step, str):
            return replace(value, **{step: _mutated(getattr(value, step), rest, random)})
        return (*value[:step], _mutated(value[step], rest, random), *value[step + 1 :])
    if isinstance(value, bool):
        return not value
    if isinstance(value, IntEnum):
        return random.choice([other for other in type(value) if other is not value])
    if isinstance(value, int):
        return random.choice([n for n in (*NUMBERS, value + 1, value - 1) if n != value])
    if isinstance(value, float):
        return random.choice(SCALES)
    if isinstance(value, str):
        return random.choice((*NAMES, f"{value}x"))
    if isinstance(value, bytes) and value:
        return bytes(len(value))
    return value
