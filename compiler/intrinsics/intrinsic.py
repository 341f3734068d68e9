"""What an intrinsic is: a function or macro that kernels call under one name in every language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from ..language.language import GLSL, LANGUAGES, OPENCL, VULKAN, WGSL
from ..language.types import FLOAT, FLOATS, INT, INTS

# Gives what an intrinsic stands for, from the functions it may call and its operands: an
# expression, or statements that store. Those functions are methods of
# `codegen.functions.intrinsic_body.Body`.
Formula = Callable[..., Any]

# A definition in one language. A text of one line is what a macro stands for; one of several lines,
# which begins with a line break, defines the intrinsic itself. In texts, `{{ S }}` is the number of
# lanes of a slice, and `{{ floatS }}`, `{{ intS }}` are vectors of as many; for T, `{{ float }}`
# and `{{ int }}` are numbers or vectors, and `{{ s }}` is the end of the name.
Form = Formula | str

# Types in signatures that stand for two: in the variant for slices, for the second one.
_EITHER = {"T": (FLOAT, FLOATS), "N": (INT, INTS)}


@dataclass(frozen=True, eq=False)
class Intrinsic:
    """One intrinsic, with its definition in each language that does not have it built in."""

    name: str
    meaning: str
    parameters: Mapping[str, str]  # Their types by name; "" for whatever is given.
    result: str  # "" if it gives nothing.
    # The type of its result; "" for that of what it is given.
    gives: str
    forms: Mapping[str, Form]  # By language.
    # Whether slices are computed lane by lane; those of floats, only where it is a function.
    by_lanes: bool
    one: str = ""  # The name of that of single numbers, of which it is the variant for slices.
    # Whether it is a function although its formula is an expression, as that repeats an operand.
    function: bool = False
    needs: tuple[str, ...] = ()  # Other intrinsics that its texts call; of slices, those of slices.
    # The function of every language that does the same except for NaN; "" if there is none.
    any_nan: str = ""
    # What OpenCL C's compiler must be told in a kernel that uses it, from its start to its end; ""
    # for nothing.
    pragma: str = ""
    # For slices of so many lanes, its definition has assembler's text.
    assembler_lanes: tuple[int, ...] = ()
    # The extension of Vulkan's GLSL that its definition there requires; "" for none.
    extension: str = ""
    # By language, the extension that a device must have for its definition, under the name that
    # drivers give it; missing if every device has what it takes.
    device_extensions: Mapping[str, str] = field(default_factory=dict)

    @property
    def formula(self) -> Formula | None:
        """The one that holds in every language, if there is one."""
        forms = {self.forms.get(language) for language in LANGUAGES}
        (form,) = forms if len(forms) == 1 else {None}
        return form if callable(form) else None

    @property
    def of_slices(self) -> bool:
        return bool(self.one)

    @property
    def call(self) -> str:
        """The name with the parameters, but for what stands for a value."""
        if self.result and not self.parameters:
            return self.name
        return f"{self.name}({', '.join(self.parameters)})"

    @property
    def variants(self) -> Iterator[Intrinsic]:
        """The intrinsic, and its variant for slices, whose name ends in S, if it has one."""
        for number in range(1 + bool(_EITHER.keys() & self.parameters.values())):
            types = {either: both[number] for either, both in _EITHER.items()}
            yield replace(
                self,
                name=self.name + "S" * number,
                meaning="the same for a slice" if number else self.meaning,
                parameters={name: types.get(each, each) for name, each in self.parameters.items()},
                result=types.get(self.result, self.result),
                one=self.name * number,
                needs=tuple(each + "S" * number for each in self.needs),
            )


def intrinsic(
    signature: str,
    meaning: str,
    formula: Form | None = None,
    *,
    opencl: Form | None = None,
    glsl: Form | None = None,
    vulkan: Form | None = None,
    wgsl: Form | None = None,
    by_lanes: bool = False,
    **others: Any,
) -> Intrinsic:
    """A row of a table: `name parameter:type ... -> type`, and its definitions.

    The formula holds in every language without a form of its own; Vulkan's GLSL and WGSL have that
    of GLSL ES, but texts of GLSL are none of WGSL. An intrinsic of floats T or of integers N exists
    for slices, too: with N, those call that of numbers for each lane, and `by_lanes` functions do.
    `others` are fields of the record.
    """
    declared, _, result = signature.partition(" -> ")
    name, *listed = declared.split()
    parameters = dict((each.partition(":")[::2]) for each in listed)
    glsl = glsl or formula
    forms = {
        OPENCL.name: opencl or formula,
        GLSL.name: glsl,
        VULKAN.name: vulkan or glsl,
        WGSL.name: wgsl or (None if isinstance(glsl, str) else glsl),
    }
    first = next(iter(parameters.values()), "")
    given = {first, *parameters, *_EITHER}
    return Intrinsic(
        name,
        meaning,
        parameters,
        result,
        "" if result in given else result,
        MappingProxyType({name: form for name, form in forms.items() if form is not None}),
        by_lanes or "N" in parameters.values(),
        **others,
    )
