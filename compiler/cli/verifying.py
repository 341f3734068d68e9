"""`tflgpu verify`: compare a compiled model's results with LiteRT's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..choices import each_choice
from ..keep_f32 import settle
from ..options import Options
from ..tools import compare as verification
from ..tools.bisect import bisect as find_culprit
from ..tools.comparison import Comparison
from .compile_options import compile_options
from .input_arrays import feed_of
from .options import input_options, model_argument, tolerance_option
from .printing import full_names_option, json_option, print_json, print_table
from .shape_choices import per_choice, print_choice
from .shell import Command, Failure
from .stages import progress

SINGLE = (
    "half precision holds numbers up to 65504 with three digits; --keep-f32 NAME keeps an operator "
    "in single precision, and --keep-f32 auto finds which ones must be"
)
"""What to try if results differ in half precision."""


@full_names_option
@click.command(cls=Command, short_help="Compare a model's results with LiteRT's.")
@model_argument
@compile_options(fallback="none", runs=True)
@tolerance_option
@input_options
@click.option("--layers", is_flag=True, help="Compare every common tensor, not just outputs.")
@click.option("--bisect", is_flag=True, help="Find the rewrite that changes the results.")
@json_option
def verify(
    model: Path,
    options: Options,
    tolerance: float,
    named: tuple[str, ...],
    seed: int,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    layers: bool,
    bisect: bool,
    as_json: bool,
) -> None:
    """Compile MODEL, run it, and compare its outputs with LiteRT's on the same inputs.

    Inputs that are not given are random. The exit code is 1 if an output differs.
    """
    feed = feed_of(model, named, seed, mean, std)
    with progress() as show:
        choices = each_choice(model, settle(model, options, tolerance, show))
        results = [
            verification.verify(model, each, feed, layers=layers, progress=show) for each in choices
        ]
        failed = next((n for n, result in enumerate(results) if not result.ok), None)
        culprit = None
        if bisect and failed is not None:
            culprit = find_culprit(model, choices[failed], feed, show)
    if as_json:
        values = per_choice(choices, [_as_dict(result, layers) for result in results])
        print_json({"ok": failed is None, **values})
    else:
        for choice, result in zip(choices, results, strict=True):
            print_choice(choice, choices)
            _print(result)
    if failed is not None:
        found = f"\n{culprit}" if culprit else ""
        half = options.precision != "f32" and not choices[failed].keep_f32
        advice = f"\n{SINGLE}" if half else ""
        raise Failure(_message(results[failed], layers or bisect) + advice + found)


def _message(result: verification.Verification, layers: bool) -> str:
    departure = result.departure
    if departure in result.layers:
        return f"the first tensor that differs from LiteRT's: {departure} ({departure.label})"
    wrong = "\n".join(f"  {item}" for item in result.outputs if not item.ok)
    advice = "" if layers else "\nfind the operator at fault with --layers"
    return f"outputs differ from LiteRT's:\n{wrong}{advice}"


def _as_dict(result: verification.Verification, layers: bool) -> dict[str, Any]:
    value: dict[str, Any] = {
        "ok": result.ok,
        "outputs": [_comparison_dict(item) for item in result.outputs],
    }
    if layers:
        value["layers"] = [
            {**_comparison_dict(item), "label": item.label} for item in result.layers
        ]
    return value


def _comparison_dict(item: Comparison) -> dict[str, Any]:
    return {
        "name": item.name,
        "ok": item.ok,
        "max_error": item.max_error,
        "tolerance": item.tolerance,
        "problem": item.problem,
        "kernels": item.kernels,
        "litert": dict(item.errors),
        "spread": item.spread,
    }


def _print(result: verification.Verification) -> None:
    def figures(item: Comparison) -> tuple[str, str, str]:
        return f"{item.max_error:.3g}", f"{item.tolerance:.3g}", item.verdict

    numbers = ("largest error", "tolerance")
    print_table(
        "Tensors, in the order of dispatch",
        ("tensor", "operators", *numbers, "verdict"),
        [(item.name, item.label, *figures(item)) for item in result.layers],
        right=numbers,
        names=("tensor", "operators"),
    )
    print_table(
        "Outputs",
        ("output", *numbers, "verdict"),
        [(item.name, *figures(item)) for item in result.outputs],
        right=numbers,
        names=("output",),
    )
