"""The result of a benchmark for other programs: as JSON and as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..tools.benchmark.result import Benchmark, KernelTime, PartCost, Spread
from ..tools.trace.summary import by_type


def timed(result: Benchmark) -> list[tuple[str, str, float]]:
    """(place, label, seconds) of each kernel and part."""
    kernels = [("device", kernel.label, kernel.seconds) for kernel in result.kernels]
    return kernels + [("LiteRT", part.label, part.run) for part in result.parts]


def as_csv(result: Benchmark) -> bytes:
    """The times as CSV: a row for each kernel, in their order, then for each part on LiteRT."""
    rows = [{"on": "device", **_kernel_dict(kernel)} for kernel in result.kernels]
    rows += [{"on": "LiteRT", **_part_dict(part)} for part in result.parts]
    text = io.StringIO()
    columns = dict.fromkeys(name for row in rows for name in row)
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _spread_dict(spread: Spread) -> dict[str, Any]:
    return {
        "median_ms": spread.median * 1e3,
        "quartiles_ms": [spread.lower * 1e3, spread.upper * 1e3],
        "runs": spread.runs,
    }


def as_dict(result: Benchmark, plot: Path | None) -> dict[str, Any]:
    """The result as `tflgpu benchmark --json` prints it; `plot` is the file of the chart."""
    litert, gpu = result.litert, result.litert_gpu
    kept = result.roofline
    return {
        "model": result.plan.model,
        "device": str(result.device),
        "driver": result.device.driver,
        "target": result.plan.target,
        "profile": result.plan.profile,
        **_spread_dict(result.runs),
        "build_ms": result.build * 1e3,
        "load_ms": result.load * 1e3,
        "first_run_ms": result.first_run * 1e3,
        "litert": {**_spread_dict(litert.runs), "threads": result.threads} if litert else None,
        "ratio": litert.ratio if litert else None,
        "busy": result.busy,
        "litert_gpu": {**_spread_dict(gpu.runs), "ratio": gpu.ratio} if gpu else None,
        "kernels": [
            {**_kernel_dict(kernel), "operators": dispatch.operators}
            for kernel, dispatch in zip(result.kernels, result.plan.dispatches, strict=True)
        ],
        "types": [asdict(row) for row in by_type(timed(result))],
        "fallback": [
            {**_part_dict(cost), "operators": part.operators}
            for cost, part in zip(result.parts, result.plan.parts, strict=True)
        ],
        "roofline": {
            "gflops": kept.roofline.flops / 1e9,
            "copies": [
                {"bytes": size, "gbps": speed / 1e9} for size, speed in kept.roofline.copies
            ],
            "dispatch_us": kept.roofline.dispatch * 1e6,
            "measured": kept.date,
            "file": kept.file,
        },
        "memory": asdict(result.memory),
        "plot": plot,
    }


def _part_dict(part: PartCost) -> dict[str, Any]:
    return {
        "label": part.label,
        "file": part.file,
        "copy_in_ms": part.copy_in * 1e3,
        "ms": part.run * 1e3,
        "copy_out_ms": part.copy_out * 1e3,
        "bytes": part.crossing,
    }


def _kernel_dict(kernel: KernelTime) -> dict[str, Any]:
    return {
        "label": kernel.label,
        "file": kernel.file,
        "ms": kernel.seconds * 1e3,
        "flops": kernel.flops,
        "bytes": kernel.moved,
        "gflops": kernel.flops / kernel.seconds / 1e9,
        "gbps": kernel.moved / kernel.seconds / 1e9,
        "roofline": kernel.roofline,
    }
