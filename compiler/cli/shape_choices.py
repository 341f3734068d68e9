"""Results of commands for each of several signatures and choices of input shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from ...runtime.input_shapes import listed
from ..options import Options


def per_choice(choices: Sequence[Options], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A result as JSON; several under "choices", each with its signature and input shapes."""
    if len(results) == 1:
        return dict(results[0])
    each = zip(choices, results, strict=True)
    return {
        "choices": [
            {
                **({"signature": choice.signature_key} if choice.signature else {}),
                "input_shapes": dict(choice.input_shapes),
                **result,
            }
            for choice, result in each
        ]
    }


def print_choice(choice: Options, choices: Sequence[Options]) -> None:
    """Print the signature and input shapes that what follows is about, if there are several."""
    if len(choices) > 1:
        shapes = listed(dict(choice.input_shapes))
        parts = [f"signature {key}" for key in choice.signature]
        parts += [f"input shapes {shapes}"] if shapes else []
        text = ", ".join(parts)
        click.echo(f"{text[0].upper()}{text[1:]}:\n")
