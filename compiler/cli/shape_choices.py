"""Results of commands for each of several choices of input shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from ...runtime.input_shapes import listed
from ..options import Options


def per_choice(choices: Sequence[Options], results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A result as JSON; if there are several, under "choices", each with its input shapes."""
    if len(results) == 1:
        return dict(results[0])
    each = zip(choices, results, strict=True)
    return {
        "choices": [
            {"input_shapes": dict(choice.input_shapes), **result} for choice, result in each
        ]
    }


def print_choice(choice: Options, choices: Sequence[Options]) -> None:
    """Print the input shapes that what follows is about, if there are several choices."""
    if len(choices) > 1:
        click.echo(f"Input shapes {listed(dict(choice.input_shapes))}:\n")
