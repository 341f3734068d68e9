"""`tflgpu benchmark`: the speed of a model on this machine, per kernel and against LiteRT."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from rich.filesize import decimal

from ..choices import each_choice
from ..litert.reference import ReferenceMissingError
from ..options import Options
from ..tools.benchmark import plot as drawing
from ..tools.benchmark.measure import WARM_UP, benchmark
from ..tools.benchmark.result import Benchmark, KernelTime, Rival, Spread
from ..tools.trace.events import Trace
from ..tools.trace.summary import by_type
from .benchmark_data import as_csv, as_dict, timed
from .compile_options import compile_options
from .input_arrays import feed_of
from .options import input_options, model_argument
from .paths import FilePath
from .printing import full_names_option, json_option, print_json, print_table
from .shape_choices import per_choice, print_choice
from .shell import Command, Failure
from .stages import progress
from .tracing import print_types, trace_option, write_trace
from .whole_file import check_folders, write_whole

TOP = 12
"""Kernels shown without --all, the slowest ones."""

BEYOND = """A kernel without a share is beyond the roofline, which is that of floats: it multiplies
bytes, several in the place of a float, reads only parts of its tensors, as GATHER does, or needs
fewer operations than are counted for its operators.
"""

MAX_THREADS = 256
"""Most threads for LiteRT, which aborts the process if the system cannot provide them; and most
other programs."""


@full_names_option
@click.command(
    "benchmark", cls=Command, short_help="Measure a model, per kernel and next to LiteRT."
)
@model_argument
@compile_options(fallback="none", runs=True)
@input_options
@click.option(
    "--rounds",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="Rounds in which tflgpu and LiteRT take turns, each with a few timed runs.",
)
@click.option(
    "--min-seconds",
    type=click.FloatRange(min=0),
    default=0,
    show_default=True,
    help="Go on with rounds until this many seconds have passed.",
)
@click.option(
    "--warmup",
    type=click.IntRange(min=0),
    default=WARM_UP,
    show_default=True,
    help="Runs of each, after the first, before anything is measured.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, MAX_THREADS),
    default=2,
    show_default=True,
    help="Threads for LiteRT.",
)
@click.option(
    "--busy",
    type=click.IntRange(0, MAX_THREADS),
    default=0,
    metavar="N",
    help="Let N other programs compute while runs are timed, as on a busy machine.",
)
@click.option(
    "--litert/--no-litert", default=True, help="Also measure LiteRT with XNNPACK, or leave it out."
)
@click.option(
    "--litert-gpu", is_flag=True, help="Also measure LiteRT's GPU accelerator; it needs a GPU."
)
@click.option(
    "--all", "everything", is_flag=True, help=f"Show all kernels, not just the {TOP} slowest."
)
@click.option(
    "--plot",
    type=FilePath(drawing.FORMATS),
    metavar="FILE.png",
    help="Write a chart of kernel times; needs matplotlib.",
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
    named: tuple[str, ...],
    seed: int,
    mean: tuple[float, ...],
    std: tuple[float, ...],
    rounds: int,
    min_seconds: float,
    warmup: int,
    threads: int,
    busy: int,
    litert: bool,
    litert_gpu: bool,
    everything: bool,
    plot: Path | None,
    trace_file: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Compile MODEL, and measure loading, running, each kernel, and LiteRT for comparison.

    A run is what an application waits for: copying inputs to the device, running all kernels, and
    copying outputs back. Inputs that are not given are random.
    """
    check_folders(plot, trace_file, csv_file)
    feed = feed_of(model, named, seed, mean, std)
    if plot is not None:
        drawing.require()
    choices = each_choice(model, options)
    if len(choices) > 1 and (plot or trace_file or csv_file):
        raise click.UsageError("--plot, --trace and --csv show one choice of input shapes")
    trace = Trace() if trace_file is not None else None
    try:
        with progress() as show:
            measure = partial(
                benchmark,
                model,
                feed=feed,
                rounds=rounds,
                min_seconds=min_seconds,
                warm_up=warmup,
                threads=threads,
                litert=litert,
                litert_gpu=litert_gpu,
                busy=busy,
                trace=trace,
                progress=show,
            )
            results = [measure(options=choice) for choice in choices]
    except ReferenceMissingError as error:
        raise Failure(f"{error}; or leave LiteRT out with --no-litert") from error
    if as_json:
        print_json(per_choice(choices, [as_dict(result, plot) for result in results]))
    else:
        for choice, result in zip(choices, results, strict=True):
            print_choice(choice, choices)
            _print(result, everything)
    result = results[0]
    written = [path for path in (trace_file, csv_file) if path is not None]
    if trace is not None and trace_file is not None:
        write_trace(trace_file, trace, f"{result.plan.model} on {result.device.name}")
    if csv_file is not None:
        write_whole(csv_file, as_csv(result))
    if not as_json:
        click.echo("".join(f"{path}\n" for path in written), nl=False)
    # Draw last, so that the measurements are not lost if the file cannot be written.
    if plot is not None:
        drawing.plot(result, plot)
        if not as_json:
            click.echo(plot)


def _print(result: Benchmark, everything: bool) -> None:
    print_table(
        f"{result.plan.model} on {result.device}",
        ("measurement", "time", "details"),
        _rows(result),
        right=("time",),
    )
    print_types(by_type(timed(result)))
    _print_kernels(result, everything)
    print_table(
        "Parts on LiteRT, and the copies between them and the device",
        ("operators", "file", "from the device", "LiteRT", "to the device", "bytes copied"),
        [
            (p.label, p.file, _ms(p.copy_in), _ms(p.run), _ms(p.copy_out), p.crossing)
            for p in result.parts
        ],
        right=("from the device", "LiteRT", "to the device", "bytes copied"),
        names=("operators",),
    )
    memory, kept = result.memory, result.roofline
    roof = kept.roofline
    peak = "unknown" if memory.process_peak is None else decimal(memory.process_peak)
    speeds = ", ".join(f"{speed / 1e9:.1f} ({decimal(size)})" for size, speed in roof.copies)
    rows = (
        ("peak arithmetic", f"{roof.flops / 1e9:.0f} GFLOP/s"),
        ("copies, GB/s (bytes moved)", speeds),
        ("empty dispatch", f"{roof.dispatch * 1e6:.2f} us, host and device together"),
        ("roofline measured", f"{kept.date}, stored in {kept.file}"),
        ("arena, weights", f"{decimal(memory.arena)}, {decimal(memory.weights)}"),
        ("inputs and outputs", decimal(memory.buffers)),
        ("peak of this process", f"{peak}, including the compiler but not LiteRT"),
    )
    print_table("Device and memory", ("quantity", "value"), rows)


def _rows(result: Benchmark) -> list[tuple[str, str, str]]:
    rows = [
        ("first load", _ms(result.build), "the driver compiles the kernels, unless it cached them"),
        ("load", _ms(result.load), "again, in the same process"),
        ("first run", _ms(result.first_run), "after that load"),
        ("run", _ms(result.runs.median), _spread_text(result.runs) + _busy_text(result.busy)),
    ]
    if result.litert is not None:
        threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
        rows += _rival_rows("LiteRT", f"CPU (XNNPACK), {threads}", result.litert)
    if result.litert_gpu is not None:
        rows += _rival_rows("LiteRT GPU", "LiteRT's GPU accelerator", result.litert_gpu)
    return rows


def _rival_rows(name: str, how: str, rival: Rival) -> list[tuple[str, str, str]]:
    ratio = "below 1 means tflgpu is faster; median over the rounds"
    return [
        (name, _ms(rival.runs.median), f"{how}, {_spread_text(rival.runs)}"),
        (f"tflgpu / {name}", f"{rival.ratio:.2f}", ratio),
    ]


def _spread_text(spread: Spread) -> str:
    quartiles = f"{spread.lower * 1e3:.3f} to {spread.upper * 1e3:.3f}"
    return f"median of {spread.runs} runs, quartiles {quartiles}, including copies in and out"


def _busy_text(busy: int) -> str:
    return f"; {busy} other programs computed" if busy else ""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"


def _print_kernels(result: Benchmark, everything: bool) -> None:
    total = sum(kernel.seconds for kernel in result.kernels)
    shown = list(enumerate(result.kernels))
    title = f"All {len(shown)} kernels, in the order of dispatch"
    if not everything and len(shown) > TOP:
        title = f"The {TOP} slowest of {len(shown)} kernels (--all shows all of them)"
        shown = sorted(shown, key=lambda item: -item[1].seconds)[:TOP]
    numbers = ("#", "ms", "share", "GFLOP/s", "GB/s", "of the roofline")
    others = "parts on LiteRT, copies" if result.parts else "copies"
    rest = f"the rest of a run is {others} and dispatch overhead"
    if result.plan.persistent:
        rest = f"launched one by one, unlike in a run, which has {others} besides"
    print_table(
        f"{title}; {total * 1e3:.3f} ms in total, {rest}",
        ("#", "operators", "file", *numbers[1:]),
        [_kernel_row(index, kernel, total) for index, kernel in shown],
        right=numbers,
        names=("operators",),
    )
    if any(kernel.roofline is None for _, kernel in shown):
        click.echo(BEYOND)


def _kernel_row(index: int, kernel: KernelTime, total: float) -> tuple[object, ...]:
    return (
        index,
        kernel.label,
        kernel.file,
        f"{kernel.seconds * 1e3:.4f}",
        f"{kernel.seconds / total:.1%}",
        f"{kernel.flops / kernel.seconds / 1e9:.1f}",
        f"{kernel.moved / kernel.seconds / 1e9:.1f}",
        "" if kernel.roofline is None else f"{kernel.roofline:.0%}",
    )
