"""`tflgpu benchmark`: the speed of a model on this machine, per kernel and against LiteRT."""

from functools import partial
from pathlib import Path

import click

from ...choices import each_choice
from ...litert.reference import ReferenceMissingError
from ...options import Options
from ...tools.benchmark.measure import BUSY_SECONDS, Measuring, benchmark
from ...tools.trace.events import Trace
from ..benchmark_answer import TOP, answer, as_csv
from ..compile_options import compile_options
from ..input_arrays import InputValues, input_options
from ..options import FilePath, Number, model_argument, record_options
from ..printing import full_names_option, json_option, per_choice, tell
from ..shell import Command, Failure
from ..stages import progress
from ..tracing import trace_option
from ..whole_file import check_folders, write_whole

# Most threads for LiteRT, which aborts the process if the system cannot provide them; and most
# other programs.
MAX_THREADS = 256

# The options for how long is measured and beside what, which a command gets as `measuring`.
measuring_options = record_options(
    Measuring,
    "measuring",
    click.option(
        "--rounds",
        type=click.IntRange(min=1),
        default=10,
        show_default=True,
        help="Rounds in which tflgpu and LiteRT take turns, each with a few timed runs.",
    ),
    click.option(
        "--min-seconds",
        type=Number(min=0),
        default=None,
        show_default=f"0, or {BUSY_SECONDS:g} with --busy",
        help="Go on with rounds until this many seconds have passed.",
    ),
    click.option(
        "--warmup",
        "warm_up",
        type=click.IntRange(min=0),
        default=5,
        show_default=True,
        help="Runs of each, after the first, before anything is measured.",
    ),
    click.option(
        "--threads",
        type=click.IntRange(1, MAX_THREADS),
        default=2,
        show_default=True,
        help="Threads for LiteRT.",
    ),
    click.option(
        "--busy",
        type=click.IntRange(0, MAX_THREADS),
        default=0,
        metavar="N",
        help="Let N other programs compute while runs are timed, as on a busy machine.",
    ),
    click.option(
        "--litert/--no-litert",
        default=True,
        help="Also measure LiteRT with XNNPACK, or leave it out.",
    ),
    click.option(
        "--litert-gpu", is_flag=True, help="Also measure LiteRT's GPU accelerator; it needs a GPU."
    ),
)


@full_names_option
@click.command(
    "benchmark", cls=Command, short_help="Measure a model, per kernel and next to LiteRT."
)
@model_argument
@compile_options(fallback="none", runs=True)
@input_options
@measuring_options
@click.option(
    "--all", "everything", is_flag=True, help=f"Show all kernels, not just the {TOP} slowest."
)
@trace_option
@click.option(
    "--csv",
    "csv_file",
    type=FilePath(),
    metavar="FILE.csv",
    help="Write the times of kernels and of parts on LiteRT as comma-separated values.",
)
@json_option
def benchmark_command(
    model: Path,
    options: Options,
    given: InputValues,
    measuring: Measuring,
    everything: bool,
    trace_file: Path | None,
    csv_file: Path | None,
) -> None:
    """Compile MODEL, and measure loading, running, each kernel, and LiteRT for comparison.

    A run is what an application waits for: copying inputs to the device, running all kernels, and
    copying outputs back. Inputs that are not given are random.
    """
    check_folders(trace_file, csv_file)
    feed = partial(given.read_of, model)
    choices = each_choice(model, options)
    if len(choices) > 1 and (trace_file or csv_file):
        raise click.UsageError("--trace and --csv show one choice of input shapes")
    trace = Trace() if trace_file is not None else None
    try:
        with progress() as show:
            results = [benchmark(model, choice, feed, measuring, trace, show) for choice in choices]
    except ReferenceMissingError as error:
        raise Failure(f"{error}; or leave LiteRT out with --no-litert") from error
    per_choice(choices, [answer(result, everything) for result in results]).print()
    result = results[0]
    if trace is not None and trace_file is not None:
        title = f"{result.plan.model} on {result.device.name}"
        write_whole(trace_file, trace.as_json(title).encode())
        tell(trace_file)
    if csv_file is not None:
        write_whole(csv_file, as_csv(result))
        tell(csv_file)
