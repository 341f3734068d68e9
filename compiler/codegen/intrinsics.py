"""Intrinsics: functions and macros that kernels call under one name in every language.

`templates/intrinsics.toml` defines them. Code that builds kernels gets an intrinsic's name from
a `Use`, which records it, so that a kernel gets exactly the definitions it needs.
"""

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ... import templates
from ..errors import RenderError
from ..ir.connected import reached
from ..language.expression import Expression, Name, Operand, common_type, expression
from ..language.language import LANGUAGES, OPENCL, Language
from ..language.primary import Array, Call
from ..language.types import FLOAT, FLOATS, INTS
from ..language.wrapping import STEP, WIDTH, wrapped
from .environment import environment

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """One entry of the table."""

    name: str
    meaning: str
    # By language; missing if the language has it built in, or does not support it.
    definitions: dict[str, str]
    needs: Mapping[str, tuple[str, ...]]  # By language, other intrinsics that the definition calls.
    # Whether it is the variant for slices of one that is defined for single numbers.
    of_slices: bool = False
    gives: str = ""  # The type of its result; "" for that of what it is given.
    # The function of every language that does the same except for NaN; "" if there is none.
    any_nan: str = ""
    # What OpenCL C's compiler must be told in a kernel that uses it; "" for nothing.
    pragma: str = ""
    # For slices of so many lanes, its definition has assembler's text.
    assembler_lanes: tuple[int, ...] = ()
    # The extension of Vulkan's GLSL that its definition there requires; "" for none.
    extension: str = ""
    # By language, the extension that a device must have for its definition, under the name that
    # drivers give it; missing if every device has what it takes.
    device_extensions: Mapping[str, str] = field(default_factory=dict)


@cache
def intrinsics() -> dict[str, Intrinsic]:
    """Every intrinsic by name, in the order of the table."""
    table = tomllib.loads(templates.source("intrinsics.toml"))
    found = {}
    for name, entry in table.items():
        found[name] = _entry(name, entry)
        if "lanes" in entry:
            found[f"{name}S"] = _entry(f"{name}S", _by_lanes(name, entry))
        elif entry.get("slices"):
            needs = [f"{n}S" if table[n].get("slices") else n for n in entry.get("needs", ())]
            own = {} if entry["slices"] is True else entry["slices"]
            same = {**entry, "meaning": "the same for a slice", "needs": needs, **own}
            found[f"{name}S"] = _entry(f"{name}S", same, of_slices=True)
    return found


def _entry(name: str, entry: Mapping[str, Any], of_slices: bool = False) -> Intrinsic:
    texts: dict[str, str] = {name: entry[name] for name in LANGUAGES if name in entry}
    if "every" in entry:
        texts = {"opencl": entry["every"], "glsl": entry["every"]} | texts
    if "glsl" in texts:
        texts = {"vulkan": texts["glsl"], "wgsl": texts["glsl"]} | texts
    every, glsl = entry.get("needs", []), entry.get("glsl_needs", [])
    return Intrinsic(
        name,
        entry["meaning"],
        texts,
        {each: tuple(every if each == OPENCL.name else every + glsl) for each in texts},
        of_slices=of_slices,
        gives=entry.get("gives", ""),
        any_nan=entry.get("any_nan", ""),
        pragma=entry.get("opencl_pragma", ""),
        assembler_lanes=tuple(entry.get("assembler_lanes", ())),
        extension=entry.get("vulkan_extension", ""),
        device_extensions=entry.get("device_extensions", {}),
    )


def _by_lanes(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a function of slices that calls one of single integers for each lane."""
    lanes, alike = entry["lanes"], entry.get("scalars", [])
    parameters = ", ".join(["{{ intS }} " + each for each in lanes] + [f"int {n}" for n in alike])
    call = f"{name}({', '.join([each + '.{{ lane }}' for each in lanes] + alike)})"
    calls = "{% for lane in lanes %}" + call + "{{ ', ' if not loop.last }}{% endfor %}"
    text = f"\n{{{{ intS }}}} {name}S({parameters}) {{\n  return {{{{ to_intS }}}}({calls});\n}}"
    return {"meaning": "the same for a slice", "every": text, "needs": [name]}


class Function(Name):
    """A function of kernels, or what stands for a value: `exp(v)`, `use.lane_places`."""

    __slots__ = ("_gives",)

    def __init__(self, name: str, gives: str = "") -> None:
        super().__init__(name, gives or FLOAT)
        self._gives = gives

    def __call__(self, *operands: Operand | Array) -> Expression:
        known = [Name(each.name) if isinstance(each, Array) else each for each in operands]
        kind = self._gives or common_type(*map(expression, known))
        return Call(str(self), *known, type=kind)


class Use:
    """Returns an intrinsic's name by attribute, such as `use.sum_lanes`, and records it.

    Some intrinsics have a variant for slices whose name ends in S; with `slices` it is preferred.
    Without `keep_nan`, functions of the languages replace those that differ only in NaN.
    """

    def __init__(self, used: set[str], slices: bool = False, keep_nan: bool = True) -> None:
        self._used, self._slices, self._keep_nan = used, slices, keep_nan

    def function(self, name: str) -> Function:
        found = getattr(self, name)
        return Function(found, intrinsics()[found].gives if found in intrinsics() else "")

    def __getattr__(self, name: str) -> str:
        if self._slices and f"{name}S" in intrinsics():
            name = f"{name}S"
        if name not in intrinsics():
            raise RenderError(f"no intrinsic {name} in templates/intrinsics.toml")
        native = "" if self._keep_nan else intrinsics()[name].any_nan
        if native:
            return native
        self._used.add(name)
        return name


def definitions(
    used: Collection[str], language: Language, lanes: int, kernel: str
) -> Iterator[str]:
    """The lines that define intrinsics and those they need, in the order of the table.

    All OpenCL files of a plan become one program, so that functions are named after `kernel` to be
    distinct in each file; every intrinsic is a macro there, to be undefined at the file's end.
    """
    for entry in defined(used, language):
        lines = _definition(entry, language, lanes)
        if language == OPENCL and not any(f"#define {entry.name}" in line for line in lines):
            yield f"#define {entry.name} {entry.name}_{kernel}"
        for line in lines:
            yield from _continued(line)


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


def defined(used: Collection[str], language: Language) -> list[Intrinsic]:
    """The intrinsics used and those they need, as far as a language does not have them built in."""
    wanted = reached(used, lambda name: intrinsics()[name].needs.get(language.name, ()))
    return [
        entry
        for name, entry in intrinsics().items()
        if name in wanted and language.name in entry.definitions
    ]


def defined_text(entry: Intrinsic, language: Language) -> str:
    """The definition of an intrinsic for slices of four lanes."""
    return "\n".join(_definition(entry, language, 4))


@cache
def _definition(entry: Intrinsic, language: Language, lanes: int) -> tuple[str, ...]:
    text = environment().from_string(entry.definitions[language.name].strip())
    floats, ints = language.name_of(FLOATS, lanes), language.name_of(INTS, lanes)
    lines = text.render(
        S=lanes,
        floatS=floats,
        intS=ints,
        float=floats if entry.of_slices else "float",
        int=ints if entry.of_slices else "int",
        s="S" if entry.of_slices else "",
        f="f" if language == OPENCL else "",
        lane_numbers=", ".join(map(str, range(lanes))),
        lanes=[f"s{lane:x}" for lane in range(lanes)] if language == OPENCL else "xyzw",
        same=lambda value: f"({floats})({value}f)" if entry.of_slices else f"{value}f",
        to_intS=language.cast.format(type=ints),
    )
    return tuple(lines.splitlines())
