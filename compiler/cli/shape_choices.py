"""Results of commands for each of several signatures and choices of input shapes."""

from __future__ import annotations

from collections.abc import Sequence

from ...runtime.input_shapes import listed
from ..options import Options
from .printing import Answer, Listing


def per_choice(choices: Sequence[Options], answers: Sequence[Answer]) -> Answer:
    """One answer; in JSON several under "choices", each with its signature and input shapes."""
    if len(answers) == 1:
        return answers[0]
    members = []
    shown: list[Listing | str] = []
    for choice, answer in zip(choices, answers, strict=True):
        key = {"signature": choice.signature_key} if choice.signature else {}
        members.append({**key, "input_shapes": dict(choice.input_shapes), **answer.values})
        shown += [_title(choice), *answer.tables()]
    return Answer({"choices": members}, shown)


def _title(choice: Options) -> str:
    """The signature and input shapes that what follows is about."""
    shapes = listed(dict(choice.input_shapes))
    parts = [f"signature {key}" for key in choice.signature]
    parts += [f"input shapes {shapes}"] if shapes else []
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}:\n"
