"""The result of a benchmark: as tables, as JSON, and as CSV."""

import csv
import io
from operator import itemgetter
from typing import Any

from rich.filesize import decimal

from ..tools.benchmark.result import Benchmark, Rival, Spread
from ..tools.trace.events import by_type
from .printing import Answer, Column, Listing, properties
from .tracing import types_listing

TOP = 12  # Kernels shown without --all, the slowest ones.

BEYOND = """A kernel without a share is beyond the roofline, which is that of floats: it multiplies
bytes, several in the place of a float, reads only parts of its tensors, as GATHER does, or needs
fewer operations than are counted for its operators.
"""


def timed(result: Benchmark) -> list[tuple[str, str, float]]:
    """(place, label, seconds) of each kernel and part."""
    kernels = [("device", kernel.label, kernel.seconds) for kernel in result.kernels]
    return kernels + [("LiteRT", part.label, part.run) for part in result.parts]


def as_csv(result: Benchmark) -> bytes:
    """The times as CSV: a row for each kernel, in their order, then for each part on LiteRT."""
    rows = [{"on": "device", **kernel} for kernel in _kernels(result).objects()]
    rows += [{"on": "LiteRT", **part} for part in _parts(result).objects()]
    columns = dict.fromkeys(name for row in rows for name in row if name != "operators")
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def answer(result: Benchmark, everything: bool) -> Answer:
    """What `tflgpu benchmark` prints; all kernels or, without `everything`, the slowest ones."""
    litert = _rival(result.litert)
    kernels, parts, types = _kernels(result), _parts(result), by_type(timed(result))
    shown = _shown_kernels(result, kernels, everything)
    kept = result.roofline
    beyond = any(kernel.roofline is None for _, kernel in shown.rows)
    return Answer(
        {
            "model": result.plan.model,
            "device": str(result.device),
            "driver": result.device.driver,
            "target": result.plan.target,
            "profile": result.plan.profile,
            **_spread(result.runs),
            "build_ms": result.build * 1e3,
            "load_ms": result.load * 1e3,
            "first_run_ms": result.first_run * 1e3,
            "litert": litert and {**litert, "threads": result.threads},
            "ratio": litert and litert.get("ratio"),
            "busy": result.busy,
            "litert_gpu": _rival(result.litert_gpu),
            "kernels": kernels,
            "types": types,
            "fallback": parts,
            "roofline": {
                "gflops": kept.roofline.flops / 1e9,
                "copies": [
                    {"bytes": size, "gbps": speed / 1e9} for size, speed in kept.roofline.copies
                ],
                "dispatch_us": kept.roofline.dispatch * 1e6,
                "measured": kept.date,
                "file": kept.file,
            },
            "memory": result.memory,
        },
        [_times(result), types_listing(types), shown, *[BEYOND] * beyond, parts, _memory(result)],
    )


def _spread(spread: Spread) -> dict[str, Any]:
    return {
        "median_ms": spread.median * 1e3,
        "quartiles_ms": [spread.lower * 1e3, spread.upper * 1e3],
        "runs": spread.runs,
    }


def _rival(rival: Rival | str | None) -> dict[str, Any] | None:
    """Its runs and the ratio to them, or why it cannot run the model; None if it was left out."""
    if rival is None:
        return None
    if isinstance(rival, str):
        return {"failure": rival}
    return {**_spread(rival.runs), "ratio": rival.ratio}


# -- kernels and parts ------------------------------------------------------------------------


def _kernels(result: Benchmark) -> Listing:
    total = sum(kernel.seconds for kernel in result.kernels)
    dispatches = result.plan.dispatches
    columns = (
        Column("", "#", itemgetter(0), right=True),
        Column("label", "operators", lambda row: row[1].label, names=True),
        Column("file", "file", lambda row: row[1].file),
        Column("ms", "ms", lambda row: row[1].seconds * 1e3, "{:.4f}", right=True),
        Column("", "share", lambda row: row[1].seconds / total, "{:.1%}", right=True),
        Column("flops", value=lambda row: row[1].flops),
        Column("bytes", value=lambda row: row[1].moved),
        Column("gflops", "GFLOP/s", lambda row: row[1].speed / 1e9, "{:.1f}", right=True),
        Column("gbps", "GB/s", lambda row: row[1].bandwidth / 1e9, "{:.1f}", right=True),
        Column(
            "roofline",
            "of the roofline",
            lambda row: row[1].roofline,
            text=lambda row: "" if row[1].roofline is None else f"{row[1].roofline:.0%}",
            right=True,
        ),
        Column("operators", value=lambda row: dispatches[row[0]].operators),
    )
    return Listing("", columns, [*enumerate(result.kernels)])


def _shown_kernels(result: Benchmark, kernels: Listing, everything: bool) -> Listing:
    total, count = sum(kernel.seconds for kernel in result.kernels), len(kernels.rows)
    rows, title = kernels.rows, f"All {count} kernels, in the order of dispatch"
    if not everything and count > TOP:
        title = f"The {TOP} slowest of {count} kernels (--all shows all of them)"
        rows = sorted(rows, key=lambda row: -row[1].seconds)[:TOP]
    others = "parts on LiteRT, copies" if result.parts else "copies"
    rest = f"the rest of a run is {others} and dispatch overhead"
    if result.plan.persistent:
        rest = f"launched one by one, unlike in a run, which has {others} besides"
    return Listing(f"{title}; {total * 1e3:.3f} ms in total, {rest}", kernels.columns, rows)


def _parts(result: Benchmark) -> Listing:
    ms = "{:.3f} ms"
    columns = (
        Column("label", "operators", lambda row: row[0].label, names=True),
        Column("file", "file", lambda row: row[0].file),
        Column("copy_in_ms", "from the device", lambda row: row[0].copy_in * 1e3, ms, right=True),
        Column("ms", "LiteRT", lambda row: row[0].run * 1e3, ms, right=True),
        Column("copy_out_ms", "to the device", lambda row: row[0].copy_out * 1e3, ms, right=True),
        Column("bytes", "bytes copied", lambda row: row[0].crossing, right=True),
        Column("operators", value=lambda row: row[1].operators),
    )
    title = "Parts on LiteRT, and the copies between them and the device"
    return Listing(title, columns, [*zip(result.parts, result.plan.parts, strict=True)])


# -- the whole --------------------------------------------------------------------------------


def _times(result: Benchmark) -> Listing:
    """The times of loads and runs, with those of others."""
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
    columns = (
        Column("", "measurement", text=itemgetter(0)),
        Column("", "time", text=itemgetter(1), right=True),
        Column("", "details", text=itemgetter(2)),
    )
    return Listing(f"{result.plan.model} on {result.device}", columns, rows)


def _rival_rows(name: str, how: str, rival: Rival | str) -> list[tuple[str, str, str]]:
    if isinstance(rival, str):
        return [(name, "", rival)]
    ratio = "below 1 means tflgpu is faster; median over the rounds"
    return [
        (name, _ms(rival.runs.median), f"{how}, {_spread_text(rival.runs)}"),
        (f"tflgpu / {name}", f"{rival.ratio:.2f}", ratio),
    ]


def _spread_text(spread: Spread) -> str:
    quartiles = f"{spread.lower * 1e3:.3f} to {spread.upper * 1e3:.3f}"
    return f"median of {spread.runs} runs, quartiles {quartiles}, including copies in and out"


def _busy_text(busy: int) -> str:
    return f"; {busy} other program{'s' * (busy != 1)} computed" if busy else ""


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.3f} ms"


def _memory(result: Benchmark) -> Listing:
    """What the device can do at most, and the memory that the model takes."""
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
    return properties("Device and memory", rows, "quantity", "value")
