"""`tflgpu verify`: compare a compiled model's results with LiteRT's."""

from functools import partial
from operator import attrgetter
from pathlib import Path

import click

from ...choices import each_choice
from ...keep_f32 import settle
from ...options import Options
from ...tools import compare as verification
from ...tools.bisect import bisect as find_culprit
from ..compile_options import compile_options, tolerance_option
from ..input_arrays import InputValues, input_options
from ..options import model_argument
from ..printing import Answer, Column, Listing, full_names_option, json_option, per_choice
from ..shell import Command, Failure
from ..stages import progress

# What to try if results differ in half precision.
SINGLE = (
    "half precision holds numbers up to 65504 with three digits; --keep-f32 NAME keeps an operator "
    "in single precision, and --keep-f32 auto finds which ones must be"
)


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
    model: Path, options: Options, tolerance: float, given: InputValues, layers: bool, bisect: bool
) -> None:
    """Compile MODEL, run it, and compare its outputs with LiteRT's on the same inputs.

    Inputs that are not given are random. The exit code is 1 if an output differs.
    """
    feed = partial(given.read_of, model)
    with progress() as show:
        choices = each_choice(model, settle(model, options, tolerance, show))
        results = [
            verification.verify(model, each, feed, layers=layers, progress=show) for each in choices
        ]
        failed = next((n for n, result in enumerate(results) if not result.ok), None)
        culprit = None
        if bisect and failed is not None:
            culprit = find_culprit(model, choices[failed], feed, show)
    answer = per_choice(choices, [_answer(result, layers) for result in results])
    Answer({"ok": failed is None, **answer.values}, answer.tables()).print()
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


COMPARED = (
    Column("ok"),
    Column("max_error", "largest error", text="{:.3g}", right=True),
    Column("tolerance", "tolerance", text="{:.3g}", right=True),
    Column("", "verdict", text=attrgetter("verdict")),
    Column("problem"),
    Column("kernels"),
    Column("litert", value=attrgetter("errors")),
    Column("spread"),
    Column("last_bits"),
)

OUTPUTS = (Column("name", "output", names=True), *COMPARED)

LAYERS = (Column("name", "tensor", names=True), Column("label", "operators", names=True), *COMPARED)


def _answer(result: verification.Verification, layers: bool) -> Answer:
    tensors = Listing("Tensors, in the order of dispatch", LAYERS, result.layers)
    outputs = Listing("Outputs", OUTPUTS, result.outputs)
    also = {"layers": tensors} if layers else {}
    return Answer({"ok": result.ok, "outputs": outputs, **also}, [tensors, outputs])
