"""The order of execution: it keeps what depends on what, and lowers the peak of live memory."""

from itertools import permutations
from pathlib import Path

import numpy as np
from agreement import difference, run
from graphs import Value, call, ints, model, w, x
from graphs.large import large_model
from graphs.operators import file_of
from pytest import MonkeyPatch

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.ir import Graph, Op, Tensor, constant
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.memory import order
from tflgpu.compiler.sizing.sizes import SizedOp

OPTIONS = Options(device="cpu_avx512", fallback="none")

WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1}


def towers() -> bytes:
    """Three branches that widen and narrow again; in the file all widen first."""
    random = np.random.default_rng(7)
    image, ops = Tensor("image", (1, 5, 7, 16)), list[Op]()

    def conv(source: Tensor, outputs: int) -> Tensor:
        number = len(ops)
        data = random.normal(0, 0.1, (outputs, 3, 3, source.shape[3])).astype(np.float32)
        result = Tensor(f"t{number}", (*image.shape[:3], outputs))
        bias = constant(f"b{number}", random.standard_normal(outputs).astype(np.float32))
        inputs = (source, constant(f"w{number}", data), bias)
        ops.append(Op("CONV_2D", inputs, (result,), WINDOW))
        return result

    narrow = [conv(value, 16) for value in [conv(image, 160) for _ in range(3)]]
    return file_of(*ops, outputs=narrow)


def problem(sizes: dict[str, int], tasks: list[str]) -> order._Problem:
    """Tasks such as "ab>c": they read the groups a and b and write c."""
    groups = list(sizes)
    made = {task.split(">")[1]: position for position, task in enumerate(tasks)}
    parsed = []
    for task in tasks:
        reads, writes = task.split(">")
        needs = frozenset(made[name] for name in reads if name in made)
        touched = tuple(groups.index(name) for name in reads + writes)
        parsed.append(order._Task(needs, touched))
    users = [[i for i, t in enumerate(parsed) if g in t.touches] for g in range(len(groups))]
    readers = [[i for i, t in enumerate(parsed) if n in t.needs] for n in range(len(parsed))]
    return order._Problem(parsed, list(sizes.values()), users, readers)


SMALL = problem(
    {"a": 2, "b": 29, "c": 31, "d": 3, "e": 5, "f": 1, "g": 7},
    ["a>b", "a>c", "b>d", "c>e", "de>f", "a>g"],
)


def lowest() -> int:
    """By trying every order that keeps what depends on what."""
    legal = [
        tried
        for tried in permutations(range(len(SMALL.tasks)))
        if all(
            tried.index(need) < tried.index(task)
            for task in tried
            for need in SMALL.tasks[task].needs
        )
    ]
    return min(order._peak(SMALL, tried) for tried in legal)


def test_the_search_is_exact() -> None:
    files = order._peak(SMALL, range(len(SMALL.tasks)))
    found = order._exact(SMALL, files)
    assert found is not None
    assert sorted(found) == list(range(len(SMALL.tasks)))
    assert order._peak(SMALL, found) == lowest() < files
    assert order._exact(SMALL, lowest()) is None
    assert lowest() >= SMALL.bound


def test_the_greedy_order_is_legal() -> None:
    found = order._greedy(SMALL)
    for task in found:
        assert all(found.index(need) < found.index(task) for need in SMALL.tasks[task].needs)


def test_operators_run_on_demand() -> None:
    """A recurrent network, in the file with the part of each step that needs no other first."""
    unrolled = problem(
        {**dict.fromkeys("abcd", 2), "s": 9, "t": 9, "u": 9, "v": 9},
        [">a", ">b", ">c", ">d", "a>s", "bs>t", "ct>u", "du>v"],
    )
    found = order._on_demand(unrolled)
    assert [unrolled.tasks[position].touches[-1] for position in found] == [0, 4, 1, 5, 2, 6, 3, 7]
    assert order._peak(unrolled, found) == 20 < order._peak(unrolled, range(8))


def test_branches_run_one_after_the_other(monkeypatch: MonkeyPatch) -> None:
    def as_in_the_file(graph: Graph, sized: list[SizedOp], aliases: object) -> list[SizedOp]:
        return sized

    planned = pipeline.build(towers(), OPTIONS).plan.memory.planned
    monkeypatch.setattr("tflgpu.compiler.memory.arrange.execution_order", as_in_the_file)
    assert 2 * planned < pipeline.build(towers(), OPTIONS).plan.memory.planned


def test_order_and_parts_are_chosen_together() -> None:
    """The peak is lowest with two parts in the larger whole, of which the smaller has a copy."""
    picture = x(1, 4, 4, 16)

    def conv(source: Value, inputs: int, outputs: int) -> Value:
        return call("CONV_2D", source, w(outputs, 1, 1, inputs), w(outputs), **WINDOW)

    wide = conv(picture, 16, 160)
    pooled = call("MAX_POOL_2D", wide, filter_height=3, filter_width=3, **WINDOW)
    smaller = call("CONCATENATION", conv(wide, 160, 16), pooled, axis=3)
    larger = call("CONCATENATION", pooled, wide, axis=3)
    ends = (conv(pooled, 160, 64), smaller, conv(larger, 320, 48))
    means = [call("MEAN", end, ints(1, 2), keep_dims=True) for end in ends]
    memory = pipeline.build(model({"y": means}).content, OPTIONS).plan.memory
    assert memory.planned == 4 * 4 * 4 * ((160 + 160) + (16 + 160))


def test_numbers_agree(tmp_path: Path) -> None:
    image = np.random.default_rng(11).standard_normal((1, 5, 7, 16)).astype(np.float32)
    expected = Reference(towers()).run([image])
    compiled = pipeline.build(towers(), OPTIONS)
    results = run(compiled, "auto", tmp_path, {"image": image}).values()
    assert [difference(*pair) for pair in zip(results, expected, strict=True)] == [None] * 3


def test_large_graphs_reach_the_lower_bound() -> None:
    memory = pipeline.build(large_model(300), OPTIONS).plan.memory
    assert memory.planned <= 1.02 * memory.lower_bound
    assert memory.naive > 10 * memory.planned
