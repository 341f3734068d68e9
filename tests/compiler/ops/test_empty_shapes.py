"""Every operator with an axis of size 0 or 1: kernels write all of their output, whatever is there.

A case of each operator and rank is changed in one axis. Cases whose shapes are no longer valid are
errors of tflgpu's own; the others run twice over memory filled with different bytes. Every axis
becomes empty; one of each operator, for which kernels are compiled, becomes 1.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from agreement import any_order, assert_agrees, difference, run
from cases import Case, families
from devices import ATTACHED, Attached
from graphs import (
    Call,
    Constant,
    Input,
    Part,
    State,
    Value,
    call,
    ints,
    known,
    model,
    number,
    quantized,
    table,
    typed,
    w,
    x,
    xi,
    xq,
)

import tflgpu
from tflgpu.compiler import ModelError, Options, build, pipeline
from tflgpu.compiler.ir import Array, Shape
from tflgpu.compiler.options import TargetName
from tflgpu.compiler.sizing.sizes import size_operators
from tflgpu.runtime.errors import TflgpuError

POISONS = (0xFF, 0x3D)  # Floats of the first are NaN, of the second small numbers.
NO_ORDER = frozenset(["fused"])  # Families that are not about one operator.


def inputs_of(value: Value | None) -> Iterator[Input | Constant]:
    """The drawn tensors that a value is computed from."""
    if isinstance(value, Part):
        yield from inputs_of(value.call)
    elif isinstance(value, Call):
        for operand in value.operands:
            yield from inputs_of(operand)
    elif isinstance(value, Input) or (isinstance(value, Constant) and value.values is None):
        yield value


def resized(value: Value, axis: int, size: int, like: Shape, made: dict[Value, Value]) -> Value:
    """A value computed from tensors of another size along an axis, where they are as `like`."""
    if value in made:
        return made[value]
    new: Value = value
    if isinstance(value, Part):
        whole = resized(value.call, axis, size, like, made)
        assert isinstance(whole, Call)
        new = Part(whole, value.position)
    elif isinstance(value, Call):
        operands = tuple(o and resized(o, axis, size, like, made) for o in value.operands)
        new = replace(value, operands=operands)
    elif isinstance(value, Input) or (isinstance(value, Constant) and value.values is None):
        shape = value.shape
        if len(shape) == len(like) and shape[axis] == like[axis]:
            new = replace(value, shape=(*shape[:axis], size, *shape[axis + 1 :]))
    elif isinstance(value, State) and value.shape == like:
        new = State((*like[:axis], size, *like[axis + 1 :]))
    made[value] = new
    return new


def variants(position: int, case: Case) -> Iterator[tuple[str, list[Value]]]:
    """The case with each axis of its first input empty, and one axis of size 1."""
    first = next((each for each in inputs_of(case.values[0]) if isinstance(each, Input)), None)
    if first is None:
        return
    rank = len(first.shape)
    ones = [(position % rank, 1)] if rank else []
    for axis, size in (*ones, *((axis, 0) for axis in range(rank))):
        made: dict[Value, Value] = {}
        changed = [resized(value, axis, size, first.shape, made) for value in case.values]
        yield f"{case.name}, axis {axis} is {size}", changed


@cache
def chosen() -> tuple[Case, ...]:
    """A case of each operator and rank of its first input."""
    found: dict[tuple[str, int], Case] = {}
    for operator, cases in families().items():
        for case in cases:
            first = next(inputs_of(case.values[0]), None)
            if first is not None and operator not in NO_ORDER:
                found.setdefault((operator, len(first.shape)), case)
    return tuple(found.values())


def valid(target: TargetName, first: int, step: int) -> dict[str, list[Value]]:
    """Variants of every `step`th case that compile; any other error than tflgpu's own fails.

    The stages up to sizing find all errors.
    """
    found = {}
    options = Options(target=target, device="gpu", fallback="none")
    aimed = pipeline.target_of(options)
    for position, case in list(enumerate(chosen()))[first::step]:
        for name, values in variants(position, case):
            try:
                made = model({name: values})
                size_operators(pipeline.select(made.content, options, aimed))
            except TflgpuError:
                continue
            found[name] = values
    return found


GROUP = 100  # Variants of a model.


@pytest.mark.slow
@pytest.mark.shared
def test_all_of_the_output_is_written(attached: Attached, tmp_path: Path) -> None:
    """The devices share the cases."""
    every = [(each.target, each.device or attached.device) for each in ATTACHED]
    first = every.index((attached.target, attached.device))
    names = valid(attached.target, first, len(every))
    assert len(names) * len(every) > 300
    listed = list(names.items())
    wrong: dict[str, str] = {}
    for start in range(0, len(listed), GROUP):
        group = dict(listed[start : start + GROUP])
        wrong |= problems(group, attached, tmp_path / str(start))
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def problems(group: Mapping[str, list[Value]], attached: Attached, folder: Path) -> dict[str, str]:
    """The outputs that memory's previous content changes, or that contain it."""
    together = model(group)
    with any_order():
        options = Options(target=attached.target, device="gpu", fallback="none")
        path = pipeline.write(pipeline.build(together.content, options), folder)
    results: list[dict[str, Array]] = []
    with tflgpu.load(path, device=attached.device or "auto", store_binaries=False) as session:
        for poison in POISONS:
            session.poison(poison)
            results.append(session.run(together.inputs))
    wrong = {}
    for name, first in results[0].items():
        if text := difference(first, results[1][name], 0.0):
            wrong[name] = text
    return wrong


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (call("REDUCE_PROD", x(0, 3), ints(0)), [1, 1, 1]),
        (call("SUM", x(0, 3), ints(0)), [0, 0, 0]),
        (call("REDUCE_MAX", x(0, 3), ints(0)), [-np.inf] * 3),
        (call("REDUCE_MIN", x(0, 3), ints(0)), [np.inf] * 3),
        (call("MEAN", x(0, 3), ints(0)), [np.nan] * 3),
        (typed("int32", "REDUCE_MAX", xi(0, 2), ints(0)), [-(2**31)] * 2),
        (typed("int32", "MEAN", xi(0, 2), ints(0)), [0, 0]),
        (call("CONCATENATION", known(np.array([[1, 2]], np.float32)), x(0, 2), axis=0), [[1, 2]]),
        (call("BATCH_MATMUL", x(2, 0), x(0, 3)), [[0] * 3] * 2),
        (call("FULLY_CONNECTED", x(0, 2), w(3, 2), None), np.empty((0, 3))),
        (call("PADV2", x(0, 2), table((1, 1), (0, 0)), number(7)), [[7, 7]] * 2),
        (call("RESHAPE", x(0, 2), ints(2, 0, 3)), np.empty((2, 0, 3))),
    ],
    ids=lambda value: getattr(value, "operator", ""),
)
def test_results_without_elements_to_compute_them_from(
    value: Value, expected: object, attached: Attached, tmp_path: Path
) -> None:
    made = model({"y": value})
    options = Options(target=attached.target, device="gpu", fallback="none")
    found = run(pipeline.build(made.content, options), attached.device, tmp_path, made.inputs)
    np.testing.assert_array_equal(found["y"], expected)


@pytest.mark.parametrize(
    "value",
    [
        call("CONCATENATION", x(3, 2), x(0, 2), x(2, 2), axis=0),
        call("DYNAMIC_UPDATE_SLICE", x(3, 2), x(0, 2), ints(1, 0)),
        call("FULLY_CONNECTED", x(2, 0), w(3, 0), w(3)),
        call("FULLY_CONNECTED", x(2, 4, 0), w(3, 0), None, keep_num_dims=True),
        call("TANH", call("FULLY_CONNECTED", x(2, 0), w(3, 0), w(3))),
        quantized("REDUCE_MAX", xq(0, 3, zero=5), ints(0), zero=5),
        quantized("REDUCE_MIN", xq(0, 3, dtype="int16"), ints(0), dtype="int16"),
    ],
    ids=lambda value: value.operator,
)
def test_operands_without_elements(value: Value, attached: Attached, tmp_path: Path) -> None:
    made = model({"y": value})
    assert_agrees(made, attached.device or "auto", tmp_path, target=attached.target)


def test_no_kernel_reads_a_tensor_without_elements() -> None:
    made = model({"y": call("GATHER", x(0, 2), xi(3, draw="places"), axis=0, batch_dims=0)})
    with pytest.raises(ModelError, match=r"operator 0 GATHER reads y/in0, which has no elements"):
        build(made.content, Options(device="cpu", fallback="none"))
