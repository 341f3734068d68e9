"""Generated graphs agree with LiteRT on every device."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from math import inf
from pathlib import Path
from zlib import crc32

import pytest
from agreement import difference, expected, problems
from cases import Case
from devices import Way, ways
from graphs import DRAWS, model
from graphs.draws import REAL, salted
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from paths import TESTS

from sweep import ELSEWHERE, GENERATORS
from sweep.draws import with_constants
from sweep.quantized import GENERATORS as QUANTIZED
from tflgpu.compiler import ModelError
from tflgpu.compiler.litert.child import Child
from tflgpu.compiler.litert.reference import Reference
from tflgpu.compiler.ops import OPS

pytestmark = pytest.mark.slow

TOGETHER = 48  # Graphs compiled as one model.
HANDFUL = 8  # Graphs that hypothesis draws in one run.
LITERT = Child()  # LiteRT in a process of its own.

# What the compiler says of scales so far apart that LiteRT's own results are no measure.
BEYOND = (
    "wrap in 16 bits",
    "to be a shift of 64 bits",
    "whose result is undefined",
    "LiteRT leaves undefined",
)

REPORTED = 3  # Most graphs that differ to be reported, each with its simplest variant.


def cases(name: str) -> st.SearchStrategy[Case]:
    """All cases that a generator can draw."""

    @st.composite
    def generate(draw: st.DrawFn) -> Case:
        value = with_constants(draw, GENERATORS[name](draw))
        situation = f"{crc32(repr(value).encode()):08x}"
        return Case(name, situation, value, kernels="XNNPACK" if name in QUANTIZED else "built-in")

    return generate()


def visit(
    name: str, number: int, look: Callable[[Case], None], *phases: Phase, most: int = HANDFUL
) -> None:
    """Call `look` with a handful of cases of a generator, by number; the first is the simplest.

    A longer run of hypothesis would soon repeat variations of what it has drawn.
    """

    @seed(number)
    @settings(
        max_examples=most + 1,
        database=None,
        deadline=None,
        phases=phases,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(name))
    def shown(case: Case) -> None:
        look(case)

    shown()


def accepted(case: Case) -> bool:
    """Whether LiteRT runs a case; the compiler must infer its shapes even if not."""
    made = model({case.name: case.value})
    try:
        # A graph may make LiteRT abort.
        LITERT.run(made.content, list(made.inputs.values()), kernels=case.kernels)
        expected(case)
    except ModelError:
        return False
    return True


def settled(case: Case) -> bool:
    """Whether LiteRT's own kernels agree on a case's finite floats.

    They differ where a limit leaves little of a large sum, such as 0.5 of 7,000 by RELU_N1_TO_1,
    and then none of them is a measure.
    """
    made = model({case.name: case.value})
    other = Reference(made.content, kernels="XNNPACK").run(made.inputs)
    return not any(
        wanted.dtype.kind == "f"
        and difference(found, wanted) is not None
        and difference(found, wanted, inf) is None
        for found, wanted in zip(other, expected(case), strict=True)
    )


def drawn(way: Way, count: int, first: int) -> Iterator[Case]:
    """The cases of a device, out of `count` for each generator; devices take turns.

    `first` is the number of their first handful.
    """
    names = [str(other) for other in ways()]
    turn = names.index(str(way))
    seen: set[str] = set()
    for start in range(0, count, HANDFUL):
        for place, name in enumerate(GENERATORS):
            chosen = [j for j in range(HANDFUL) if (place + j) % len(names) == turn]
            chosen = [j for j in chosen if start + j < count]
            found: list[Case] = []
            if chosen:
                most = chosen[-1] + 1
                visit(name, first + start // HANDFUL, found.append, Phase.generate, most=most)
            for case in (case for j, case in enumerate(found[1:]) if j in chosen):
                if case.name not in seen and accepted(case):
                    seen.add(case.name)
                    yield case


def smallest(case: Case, way: Way, count: int, first: int, folder: Path) -> str:
    """What is wrong with the simplest variant of a case that fails, of those of `drawn`."""
    wrong: list[str] = []

    def look(other: Case) -> None:
        if (wrong or other.name == case.name) and accepted(other):
            text = problems([other], way, folder / other.name).get(other.name)
            if text is not None:
                wrong.append(f"{model({other.name: other.value}).graph}\n  {text}")
                raise AssertionError(text)

    with suppress(AssertionError, Flaky):
        for number in range(first, first + -(-count // HANDFUL)):
            visit(case.operator, number, look, Phase.generate, Phase.shrink)
    return wrong[-1] if wrong else "it agrees on its own"


@pytest.fixture(autouse=True)
def litert() -> Iterator[None]:
    """The process with LiteRT ends with the test."""
    with LITERT:
        yield


@pytest.fixture(autouse=True)
def special(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With --sweep-special, floats of inputs and constants are special values at times."""
    if request.config.getoption("--sweep-special"):
        for name in REAL:
            monkeypatch.setitem(DRAWS, name, salted(DRAWS[name]))


def test_generated_graphs_agree_with_litert(
    way: Way, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    wanted = request.config.getoption("--sweep") or len(GENERATORS)
    count = -(-wanted // len(GENERATORS))
    first = request.config.getoption("--sweep-seed")
    cases = drawn(way, count, first)
    numbers: Counter[str] = Counter()
    wrong: dict[Case, str] = {}
    while batch := list(islice(cases, TOGETHER)):
        found = problems(batch, way, tmp_path / str(numbers.total()))
        for case in batch:
            text = found.get(case.name)
            if text is None or any(reason in text for reason in BEYOND):
                continue
            if settled(case):
                wrong[case] = text
        numbers.update(case.operator for case in batch)
        print(f"{numbers.total()} graphs", *found.items(), sep="\n", flush=True)
    print(*(f"{name} {number}" for name, number in sorted(numbers.items())), sep=", ")
    assert not wrong, "\n".join(
        f"{case.name}: {text}\n  {smallest(case, way, count, first, tmp_path)}"
        for case, text in islice(wrong.items(), REPORTED)
    )


def test_every_operator_has_a_generator_or_is_tested_elsewhere() -> None:
    operators = {name for name in OPS if not name.startswith("tflgpu.")}
    assert operators <= GENERATORS.keys() | ELSEWHERE.keys()
    assert not GENERATORS.keys() & ELSEWHERE.keys()
    for name, (file, _) in ELSEWHERE.items():
        assert f'"{name}"' in (TESTS / file).read_text(encoding="utf-8"), f"{name}: {file}"
