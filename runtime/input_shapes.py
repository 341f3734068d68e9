"""Which of the choices that a model was compiled for fits the inputs of a run."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .cache.variant import Variant
from .errors import InputError
from .execution.inputs import by_name
from .launch.callers_memory import callers_memory
from .plan.records import Plan, TensorInfo

Shapes = Mapping[str, tuple[int, ...]]  # The shape of each input, by name.


def shapes_of(infos: Sequence[TensorInfo]) -> Shapes:
    return {info.name: info.shape for info in infos}


def signatures_of(plan: Plan) -> tuple[str, ...]:
    """The signature of a plan and of each of its specializations, in that order."""
    return (plan.signature, *(item.signature for item in plan.specializations))


def choices_of(plan: Plan) -> tuple[Shapes, ...]:
    """The shapes of the inputs for a plan and for its specializations, in that order."""
    each = (plan.inputs, *(item.inputs for item in plan.specializations))
    return tuple(map(shapes_of, each))


def choices_for(plan: Plan, signature: str | None) -> list[int]:
    """The numbers of the choices for a signature, by default the first (InputError lists all)."""
    signatures = signatures_of(plan)
    wanted = signatures[0] if signature is None else signature
    found = [number for number, key in enumerate(signatures) if key == wanted]
    if not found:
        names = ", ".join(dict.fromkeys(filter(None, signatures))) or "none"
        raise InputError(f"the model was not compiled for signature {wanted!r}, but for {names}")
    return found


def chosen(choices: Sequence[Shapes], shapes: Mapping[str, Sequence[int]]) -> int:
    """The number of the choice with these shapes; inputs that do not matter may be left out.

    InputError, with a list of the choices, unless it is exactly one.
    """
    try:
        wanted = {name: tuple(shape) for name, shape in shapes.items()}
    except (AttributeError, TypeError) as error:
        raise InputError(
            f"the input shapes {shapes!r} are no mapping of names to shapes; give one of:"
            f"{lines(choices)}"
        ) from error
    found = [n for n, choice in enumerate(choices) if wanted.items() <= choice.items()]
    if len(found) != 1:
        problem = "are those of several choices" if found else "are those of no choice"
        raise InputError(f"the input shapes {listed(wanted)} {problem}:{lines(choices)}")
    return found[0]


def specialized(
    variant: Variant, shapes: Mapping[str, Sequence[int]] | None, signature: str | None = None
) -> Variant:
    """A variant for a signature, by default the first, and for its input shapes, likewise.

    InputError if there is no such choice, PlanError if it is damaged.
    """
    numbers = choices_for(variant.plan, signature)
    choices = choices_of(variant.plan)
    number = numbers[chosen([choices[n] for n in numbers], shapes) if shapes else 0]
    return variant.specialized(variant.plan.specializations[number - 1]) if number else variant


def matching(choices: Sequence[Shapes], infos: Sequence[TensorInfo], inputs: Any) -> int:
    """The number of the choice that fits inputs as `Session.run` or `Session.bind` takes them.

    InputError, with a list of the choices, if none fits; also if several do, because the inputs
    are memory without a shape.
    """
    given = by_name(infos, inputs)
    known = {info.name: _shape(given[info.name]) for info in infos if info.name in given}
    wanted = {name: shape for name, shape in known.items() if shape is not None}
    found = [n for n, choice in enumerate(choices) if wanted.items() <= choice.items()]
    shapeless = [name for name, shape in known.items() if shape is None]
    if len(found) == 1 or (found and not shapeless):
        # If inputs are missing, their check will say so.
        return found[0]
    if not found:
        raise InputError(
            f"the model was not compiled for {listed(wanted)}; choose one of its input shapes, or "
            f"compile it for these as well:{lines(choices)}"
        )
    raise InputError(
        f"{', '.join(shapeless)} has no shape to choose the input shapes by; choose them with "
        f"Session.with_shapes:{lines(choices)}"
    )


def listed(shapes: Shapes) -> str:
    """Shapes as text, such as "ids [1, 16], mask [1, 16]"."""
    return ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())


def described_choices(plan: Plan) -> list[str]:
    """Each choice as text, such as "decode: tokens [1, 1]"."""
    each = zip(signatures_of(plan), choices_of(plan), strict=True)
    return [f"{key}: {listed(shapes)}" if key else listed(shapes) for key, shapes in each]


def lines(choices: Sequence[Shapes]) -> str:
    """The choices as the end of a message, one on each line."""
    return "".join(f"\n  {listed(choice)}" for choice in choices)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of an array or of nested lists of numbers; None for memory without one."""
    memory = callers_memory(value)
    if memory is not None:
        # A texture has no batch, and a buffer no shape at all.
        return None if memory.texture else memory.shape or None
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and not isinstance(value, memoryview):
        return shape
    if isinstance(value, (list, tuple, int, float, complex, str)):
        try:
            return np.shape(value)
        except ValueError:  # ragged, as the conversion of the input will say
            return None
    return None
