"""The kernels of a folder for browsers, which compile every one of them at each start.

Kernels that differ in sizes alone become one, which reads them from a uniform buffer, unless they
do much of the model's work: browsers check each index of an array, which takes longer if the array
has no constant size. Numbers that kernels have in common stay constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

SHARED = 0.125
"""Most of a model's operations that are computed by kernels for several sizes."""
ENTRY = "main"
"""What every kernel is called, so that equal ones have equal texts."""
_SECTIONS = re.compile(
    rf"(.*^@group[^\n]*\n)(.*^fn {ENTRY}\([^\n]*\n)(.*)", re.DOTALL | re.MULTILINE
)
"""The bindings of a kernel, what else it declares, and its body."""
_COUNT = re.compile(r", \d+(?=>;)")
"""The number of elements of a binding; those without one have as many as are bound."""
_WORD = re.compile(
    r"""
    //.*                        # a comment
    | \w+<[^;()]*?>             # a type
    | vec\d\w*\([\d, ]*\)       # a vector of numbers
    | \[\d+\]                   # a constant index, of an array in registers
    | [\d.]+e[-+]\d+            # a real number
    | [\w.]+
    """,
    re.VERBOSE,
)
"""Words of a body; those that are whole numbers by themselves can be sizes."""


class Kernel(NamedTuple):
    """What is known of a kernel beside its text."""

    name: str
    work: float
    """Its share of the model's operations."""


class Placed(NamedTuple):
    """Where a kernel of the plan is in the folder."""

    number: int
    sizes: tuple[int, ...]
    """What it reads there, if it computes others, too."""


class _Form(NamedTuple):
    """What kernels that differ in sizes alone have in common."""

    bindings: str
    declarations: str
    words: tuple[str, ...]
    """What stands before, between and behind the numbers in the body."""


class _Member(NamedTuple):
    """What is its own in a kernel of a form."""

    text: str
    counts: tuple[str, ...]
    """The numbers of elements of its bindings."""
    numbers: tuple[str, ...]
    """Those in its body."""


def bare(text: str, name: str) -> str:
    """A kernel without its header comment and its name, which tell equal kernels apart."""
    lines = text.splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if not line.startswith("//"))
    return "".join(lines[start:]).strip().replace(f"fn {name}(", f"fn {ENTRY}(")


def shared(known: Mapping[str, Kernel]) -> tuple[Mapping[str, str], Mapping[str, Placed]]:
    """The kernels that compute those with the given bare texts, with their names, and where each of
    these is. One that computes several has the name of the first.

    >>> text = "@group(0) @binding(0) var<storage> x: array<f32, %d>;\\nfn main() {\\n  f(%d);\\n}"
    >>> known = {text % (2, 8): Kernel("first", 0.1), text % (3, 9): Kernel("second", 0.05)}
    >>> kernels, placed = shared(known)
    >>> print(*kernels)
    @group(0) @binding(0) var<storage> x: array<f32>;
    @group(0) @binding(1) var<uniform> sizes: Sizes;
    struct Sizes { size0: i32 }
    fn main() {
      let size0 = sizes.size0;
      f(size0);
    }
    >>> list(placed.values())
    [Placed(number=0, sizes=(8,)), Placed(number=0, sizes=(9,))]
    """
    kernels, placed = {}, {}
    for number, (form, members) in enumerate(_groups(known)):
        columns = list(zip(*(each.numbers for each in members), strict=True))
        sizes = list(dict.fromkeys(each for each in columns if len(set(each)) > 1))
        first = members[0].text
        text = _joined(form, members, columns, sizes) if len(members) > 1 else first
        kernels[text] = known[first].name
        for at, each in enumerate(members):
            placed[each.text] = Placed(number, tuple(int(size[at]) for size in sizes))
    return kernels, placed


def _groups(known: Mapping[str, Kernel]) -> Iterator[tuple[_Form, list[_Member]]]:
    """Kernels that become one, those with the least work first; and each of the others alone."""
    forms: dict[_Form, list[_Member]] = {}
    for text in known:
        form, member = _apart(text)
        forms.setdefault(form, []).append(member)
    several = [each for members in forms.values() if len(members) > 1 for each in members]
    several.sort(key=lambda each: known[each.text].work)
    works = accumulate(known[each.text].work for each in several)
    little = {each.text for each, work in zip(several, works, strict=True) if work <= SHARED}
    for form, members in forms.items():
        together = [each for each in members if each.text in little]
        if together:
            yield form, together
        yield from ((form, [each]) for each in members if each.text not in little)


def _apart(text: str) -> tuple[_Form, _Member]:
    sections = _SECTIONS.fullmatch(text)
    if not sections:  # It was written by hand, in another way.
        return _Form(text, "", ("",)), _Member(text, (), ())
    bindings, declarations, body = sections.groups()
    words, numbers, end = [], [], 0
    for word in _WORD.finditer(body):
        if word[0].isdecimal():
            words.append(body[end : word.start()])
            numbers.append(word[0])
            end = word.end()
    form = _Form(_COUNT.sub(", 0", bindings), declarations, (*words, body[end:]))
    return form, _Member(text, tuple(_COUNT.findall(bindings)), tuple(numbers))


def _joined(
    form: _Form,
    members: Sequence[_Member],
    columns: Sequence[tuple[str, ...]],
    sizes: Sequence[tuple[str, ...]],
) -> str:
    """One kernel for several; `columns` has each number in all of them, `sizes` those to read."""
    counts = zip(*(each.counts for each in members), strict=True)
    bindings = _COUNT.sub(lambda _: _if_same(next(counts), ""), form.bindings)
    names = {column: f"size{number}" for number, column in enumerate(sizes)}
    read = [f"  let {name} = sizes.{name};\n" for name in names.values()]
    if sizes:
        bindings += f"@group(0) @binding({bindings.count('@group')}) var<uniform> sizes: Sizes;\n"
        bindings += f"struct Sizes {{ {', '.join(f'{name}: i32' for name in names.values())} }}\n"
    numbers = [*(names.get(column, column[0]) for column in columns), ""]
    body = [text for pair in zip(form.words, numbers, strict=True) for text in pair]
    return "".join([bindings, form.declarations, *read, *body])


def _if_same(texts: Sequence[str], otherwise: str) -> str:
    return texts[0] if len(set(texts)) == 1 else otherwise
