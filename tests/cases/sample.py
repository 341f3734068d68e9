"""A few of the cases, which render most of the lines that kernels consist of.

    python -m cases.sample

chooses them anew. A line counts as the same with other numbers and in another kernel of its
template. The sample has every operator and all special values.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from . import families, special_values
from .case import Case

FILE = Path(__file__).with_name("sample.json")
LEAST = 6  # Lines that a case must add.
NUMBER, KERNEL = re.compile(r"\b\d[\w.]*"), re.compile(r"_\d{3}\b")

Chosen = tuple[Case, int]  # A case, and the rank of the implementations it is compiled with.
Line = tuple[str, str]  # A template, and a line of what it renders.


@cache
def sample() -> Mapping[Case, tuple[int, ...]]:
    """The ranks that each case of the sample is compiled with; a new operator's first case."""
    listed = json.loads(FILE.read_text(encoding="utf-8"))
    found: dict[Case, tuple[int, ...]] = {}
    for operator, cases in families().items():
        ranks = listed.get(operator, {cases[0].situation: [0]})
        found |= {case: tuple(ranks[case.situation]) for case in cases if case.situation in ranks}
    return found


def rendered() -> Iterator[tuple[Chosen, set[Line]]]:
    """The lines of each case with each of its implementations."""
    # Which takes the sample from here.
    from compiled_cases import every_kernel

    for cases in families().values():
        for item in every_kernel(cases, "glsl", "gpu", (0, 1)):
            lines: dict[str, set[Line]] = {case.name: set() for case in item.cases}
            for dispatch in item.model.plan.dispatches:
                file = item.model.plan.kernels[dispatch.kernel].file
                name = dispatch.label.rpartition("-> ")[2].split("/")[0].split(":")[0]
                template = Path(file).stem[len("000_") :]
                lines[name].update(lines_of(template, item.model.sources[file]))
            yield from (((case, item.rank), lines[case.name]) for case in item.cases)


def lines_of(template: str, source: str) -> Iterator[Line]:
    for line in source.splitlines():
        code = line.split("//")[0].strip()
        if code:
            yield template, KERNEL.sub("_", NUMBER.sub("0", code))


def choose(lines: Mapping[Chosen, set[Line]]) -> Iterator[Chosen]:
    """Special values, the case of each other operator that adds most, and then whatever does."""
    special = {case.name for table in special_values.TABLES for case in table()}
    first = [each for each in lines if each[0].name in special and each[1] == 0]
    yield from first
    missing = families().keys() - {case.operator for case, _ in first}
    seen = set[Line]().union(*(lines[each] for each in first))
    left = {each: found - seen for each, found in lines.items() if each not in first}
    while left:
        best = max(left, key=lambda each: (each[0].operator in missing, len(left[each])))
        added = left.pop(best)
        if len(added) < LEAST and not missing:
            return
        yield best
        missing -= {best[0].operator}
        left = {each: found - added for each, found in left.items()}


def main() -> None:
    found: dict[str, dict[str, list[int]]] = {}
    chosen = sorted(choose(dict(rendered())), key=lambda each: (each[0].name, each[1]))
    for case, rank in chosen:
        found.setdefault(case.operator, {}).setdefault(case.situation, []).append(rank)
    rows = (f" {json.dumps(name)}: {json.dumps(cases)}" for name, cases in sorted(found.items()))
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
