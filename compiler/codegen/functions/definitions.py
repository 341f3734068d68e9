"""What intrinsics stand for in a language, made of their formulas, or of their texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ...intrinsics import INTRINSICS
from ...intrinsics.intrinsic import Formula, Intrinsic
from ...ir.connected import reached
from ...language.expression import Expression, Name
from ...language.functions import lane
from ...language.language import OPENCL, Language
from ...language.notation import ATOM, CHOICE
from ...language.primary import Array
from ...language.printing import CPrinter, indented
from ...language.statement import Assign, Evaluate, Return, Statements
from ...language.types import FLOAT, FLOATS, INTS, LANE
from ...language.wrapping import STEP, WIDTH, wrapped
from ..rendering.environment import environment
from .intrinsic_body import Body


class Parameter(Name):
    """One of a macro, which stands for anything: beside operators it is in parentheses."""

    __slots__ = ()

    def __init__(self, name: str, type: str) -> None:
        super().__init__(name, type)
        self.level = CHOICE


@dataclass(frozen=True)
class Text:
    lines: Sequence[str]
    function: bool  # Whether it is one, and no macro.
    needs: Collection[str]  # Other intrinsics that it calls.


@dataclass(frozen=True)
class Macro:
    entry: Intrinsic
    formula: Formula
    language: Language
    lanes: int
    needs: Collection[str]

    def called(self, *arguments: Expression) -> Sequence[Assign | Evaluate]:
        """What it stands for: a single Evaluate if that is an expression."""
        body = Body(self.language, self.lanes, self.entry.of_slices)
        found = self.formula(body, *_operands(self.entry, arguments))
        if isinstance(found, Expression):
            return [Evaluate(found)]
        return [found] if isinstance(found, Assign) else found

    @property
    def parameters(self) -> list[Parameter]:
        return [Parameter(name, type or FLOAT) for name, type in self.entry.parameters.items()]

    @cached_property
    def body(self) -> Sequence[Assign | Evaluate]:
        return self.called(*self.parameters)

    @cached_property
    def uses(self) -> Sequence[int]:
        """How often the body names each parameter."""
        roots = [each.value for each in self.body]
        roots += [each.target for each in self.body if isinstance(each, Assign)]
        return [sum(root.count(each) for root in roots) for each in self.parameters]

    @property
    def lines(self) -> Iterable[str]:
        texts = [
            each.value.within(ATOM)
            if isinstance(each, Evaluate)
            else f"{each.target} {each.sign} {each.value}"
            for each in self.body
        ]
        return [f"#define {self.entry.call} {', '.join(texts)}"]


@dataclass(frozen=True)
class Function:
    entry: Intrinsic
    body: Statements
    language: Language
    lanes: int
    needs: Collection[str]

    @property
    def parameters(self) -> dict[str, str]:
        """By name, what the language calls their types."""
        types = self.entry.parameters
        return {name: self.language.name_of(types[name], self.lanes) for name in types}

    @property
    def lines(self) -> Iterable[str]:
        result = self.language.name_of(self.entry.result, self.lanes)
        given = ", ".join(f"{type} {name}" for name, type in self.parameters.items())
        printer = CPrinter(self.language, self.lanes, self.parameters)
        inner = indented(printer.lines(self.body))
        return [f"{result} {self.entry.name}({given}) {{", *inner, "}"]


Definition = Macro | Function | Text


def _operands(entry: Intrinsic, given: Iterable[Expression]) -> Iterator[Expression | Array]:
    """The operands of a formula; arrays are functions of an index."""
    for type, each in zip(entry.parameters.values(), given, strict=True):
        yield Array(each.text, 0, type.removesuffix("[]")) if type.endswith("[]") else each


@cache
def definition(name: str, language: Language, lanes: int = 4) -> Definition | None:
    """What an intrinsic stands for; None if a language has it built in, or does not support it."""
    entry = INTRINSICS.get(name)
    form = entry.forms.get(language.name) if entry else None
    if entry is None or form is None:
        return None
    by_lanes = entry.by_lanes and entry.of_slices
    if by_lanes and (entry.result == INTS or _is_function(entry.one, language, lanes)):
        return _lane_by_lane(entry, language, lanes)
    if isinstance(form, str):
        return Text(_text(entry, form, language, lanes), form.startswith("\n"), entry.needs)
    body = Body(language, lanes, entry.of_slices)
    operands = [Name(each, type or FLOAT) for each, type in entry.parameters.items()]
    result = form(body, *_operands(entry, operands))
    typed = all(entry.parameters.values())
    if not body.statements and not (entry.function and typed):
        return Macro(entry, form, language, lanes, body.used)
    statements = Statements((*body.statements, Return(result)))
    return Function(entry, statements, language, lanes, body.used)


def _is_function(name: str, language: Language, lanes: int) -> bool:
    found = definition(name, language, lanes)
    return isinstance(found, Function) or (isinstance(found, Text) and found.function)


def _lane_by_lane(entry: Intrinsic, language: Language, lanes: int) -> Function:
    """A function of slices that calls that of numbers for each lane."""
    function = Body(language, lanes, of_slices=False).use.function(entry.one)
    operands = [Name(each, type) for each, type in entry.parameters.items()]
    calls = [
        function(*(lane(each, n, lanes) if each.type in LANE else each for each in operands))
        for n in range(lanes)
    ]
    result = Return(language.made(entry.result, lanes, *calls))
    return Function(entry, Statements((result,)), language, lanes, [entry.one])


def _text(entry: Intrinsic, form: str, language: Language, lanes: int) -> Sequence[str]:
    floats, ints = language.name_of(FLOATS, lanes), language.name_of(INTS, lanes)
    text = environment().from_string(form.strip())
    head = "" if form.startswith("\n") else f"#define {entry.call} "
    rendered = text.render(
        S=lanes,
        floatS=floats,
        intS=ints,
        float=floats if entry.of_slices else "float",
        int=ints if entry.of_slices else "int",
        s="S" if entry.of_slices else "",
        for_lanes=lambda text: ", ".join(text % f"s{lane:x}" for lane in range(lanes)),
        same=lambda value: f"({floats})({value})" if entry.of_slices else value,
    )
    return f"{head}{rendered}".splitlines()


def needs(name: str, language: Language) -> Collection[str]:
    """The other intrinsics that the definition of one calls."""
    found = definition(name, language)
    return found.needs if found else ()


def defined(used: Collection[str], language: Language) -> list[Intrinsic]:
    """The intrinsics used and those they need, as far as a language does not have them built in."""
    wanted = reached(used, lambda name: needs(name, language))
    return [
        entry
        for name, entry in INTRINSICS.items()
        if name in wanted and language.name in entry.forms
    ]


def definitions(
    used: Collection[str], language: Language, lanes: int, kernel: str
) -> Iterator[str]:
    """The lines that define intrinsics and those they need, in the order of the table.

    All OpenCL files of a plan become one program, so that functions are named after `kernel` to be
    distinct in each file; every intrinsic is a macro there, to be undefined at the file's end.
    """
    for entry in defined(used, language):
        lines = _lines(entry.name, language, lanes)
        if language == OPENCL and not any(f"#define {entry.name}" in line for line in lines):
            yield f"#define {entry.name} {entry.name}_{kernel}"
        yield from lines


@cache
def _lines(name: str, language: Language, lanes: int) -> Sequence[str]:
    found = definition(name, language, lanes)
    assert found is not None
    return [part for line in found.lines for part in _continued(line)]


_MACRO = re.compile(r"(#define \w+(?:\([^)]*\))?) (.+)")


def _continued(line: str) -> Iterator[str]:
    """A line of a definition; a long one on several."""
    macro = _MACRO.match(line)
    if macro is None or len(line) <= WIDTH:
        yield from _wrapped_within(line)
        return
    *first, last = wrapped(macro[2], WIDTH - len(f"{STEP} \\"))
    yield f"{macro[1]} \\"
    yield from (f"{STEP}{each} \\" for each in first)
    yield STEP + last


def _wrapped_within(line: str) -> Iterator[str]:
    """A line of a function, whose indentation stays."""
    text = line.lstrip()
    indent = line[: len(line) - len(text)]
    return (indent + part for part in wrapped(text, WIDTH - len(indent)))
