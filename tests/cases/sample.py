"""A few of the cases, which render most of the lines that kernels consist of.

    python -m cases.sample

chooses them anew. A line counts as the same with other numbers and in another kernel of its
template. Every operator, every function that a kernel calls and all special values run in each
language; the cases that only add lines are dealt out to the languages.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from tflgpu.compiler.options import TargetName

from . import families, special_values
from .case import Case

FILE = Path(__file__).with_name("sample.json")
LEAST = 6  # Lines that a case must add.
LANGUAGES: tuple[TargetName, ...] = ("opencl", "glsl", "wgsl")
EVERY, SOME = "in every language", "in one of them"  # What the file's two tables are of.
NUMBER, KERNEL, CALL = (re.compile(text) for text in (r"\b\d[\w.]*", r"_\d{3}\b", r"\b\w+\("))

Chosen = tuple[Case, int]  # A case, and the rank of the implementations it is compiled with.
# A template, and a line of what it renders; the operator or a function, which has no template.
Line = tuple[str, str]


@cache
def sample(target: TargetName) -> Mapping[Case, tuple[int, ...]]:
    """The ranks that each case of a language's sample is compiled with; a new operator's first
    case."""
    listed = json.loads(FILE.read_text(encoding="utf-8"))
    dealt = [*_rows(listed[SOME])][LANGUAGES.index(target) :: len(LANGUAGES)]
    chosen: dict[str, dict[str, list[int]]] = {}
    for operator, situation, rank in (*_rows(listed[EVERY]), *dealt):
        chosen.setdefault(operator, {}).setdefault(situation, []).append(rank)
    found: dict[Case, tuple[int, ...]] = {}
    for operator, cases in families().items():
        ranks = chosen.get(operator, {cases[0].situation: [0]})
        found |= {case: tuple(ranks[case.situation]) for case in cases if case.situation in ranks}
    return found


def names() -> set[tuple[str, str]]:
    """The operators and situations of all cases that are listed."""
    listed = json.loads(FILE.read_text(encoding="utf-8"))
    return {row[:2] for part in (EVERY, SOME) for row in _rows(listed[part])}


def _rows(part: Mapping[str, Mapping[str, Sequence[int]]]) -> Iterator[tuple[str, str, int]]:
    for operator, cases in part.items():
        for situation, ranks in cases.items():
            yield from ((operator, situation, rank) for rank in ranks)


def rendered() -> Iterator[tuple[Chosen, set[Line]]]:
    """The lines of each case with each of its implementations."""
    # Which takes the sample from here.
    from compiled_cases import every_kernel

    for cases in families().values():
        for item in every_kernel(cases, "glsl", "gpu", (0, 1)):
            lines = {case.name: {("", case.operator)} for case in item.cases}
            for dispatch in item.model.plan.dispatches:
                file = item.model.plan.kernels[dispatch.kernel].file
                name = dispatch.label.rpartition("-> ")[2].split("/")[0].split(":")[0]
                template = Path(file).stem[len("000_") :]
                lines[name].update(lines_of(template, item.model.sources[file]))
            yield from (((case, item.rank), lines[case.name]) for case in item.cases)


def lines_of(template: str, source: str) -> Iterator[Line]:
    for line in source.splitlines():
        code = KERNEL.sub("_", NUMBER.sub("0", line.split("//")[0].strip()))
        yield from (("", name) for name in CALL.findall(code))
        if code:
            yield template, code


def choose(lines: Mapping[Chosen, set[Line]]) -> Iterator[tuple[str, Chosen]]:
    """Special values and cases with the operators and functions that are left, for every language;
    then those that add most lines."""
    special = {case.name for table in special_values.TABLES for case in table()}
    first = [each for each in lines if each[0].name in special and each[1] == 0]
    yield from ((EVERY, each) for each in first)
    seen = set[Line]().union(*(lines[each] for each in first))
    left = {each: found - seen for each, found in lines.items() if each not in first}

    def worth(each: Chosen) -> tuple[int, int]:
        return sum(not template for template, _ in left[each]), len(left[each])

    while left:
        best = max(left, key=worth)
        if worth(best) < (1, 0) and len(left[best]) < LEAST:
            return
        yield EVERY if worth(best) >= (1, 0) else SOME, best
        added = left.pop(best)
        left = {each: found - added for each, found in left.items()}


def main() -> None:
    found: dict[str, dict[str, dict[str, list[int]]]] = {EVERY: {}, SOME: {}}
    for part, (case, rank) in choose(dict(rendered())):
        found[part].setdefault(case.operator, {}).setdefault(case.situation, []).append(rank)
    FILE.write_text("{\n" + ",\n".join(_text(*part) for part in found.items()) + "\n}\n")


def _text(name: str, part: Mapping[str, Mapping[str, Sequence[int]]]) -> str:
    rows = (
        f" {json.dumps(operator)}: {json.dumps({key: sorted(cases[key]) for key in sorted(cases)})}"
        for operator, cases in sorted(part.items())
    )
    return f"{json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n}"


if __name__ == "__main__":
    main()
