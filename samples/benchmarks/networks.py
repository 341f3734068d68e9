"""Every network of a folder beside LiteRT, as a table in Markdown with a geometric mean.

    python samples/benchmarks/networks.py FOLDER --device PoCL --threads 2

Each network runs in a process of its own, where tflgpu and LiteRT take turns, so that a busy
machine slows both. What cannot run is listed with its reason and does not count.
"""

import argparse
import json
import platform
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from math import exp, fsum, log
from pathlib import Path
from typing import Any

from ai_edge_litert.interpreter import Interpreter

# LiteRT's time above which a network counts in the mean; of faster ones overheads are measured.
LEAST_MS = 1.0
TIMEOUT = 600  # Seconds a network may take.
TFLGPU = (sys.executable, "-m", "tflgpu")  # The program of this Python, whichever is found first.


@dataclass(frozen=True)
class Row:
    """One network, measured."""

    network: str
    kind: str  # float32, or the type its weights or tensors are stored in.
    tflgpu: float  # Median of a run in milliseconds.
    litert: float
    ratio: float
    kernels: float  # Milliseconds all its kernels take one by one.
    roofline: float  # The least milliseconds they could take on this device.


def kind(model: Path) -> str:
    """float32 for a network that has nothing else; the narrowest type it has otherwise."""
    types = {item["dtype"].__name__ for item in Interpreter(str(model)).get_tensor_details()}
    return next(
        (name for name in ("int8", "uint8", "int16", "float16") if name in types), "float32"
    )


def measure(model: Path, options: Sequence[str]) -> dict[str, Any] | str:
    """What `tflgpu benchmark --json` says, or why it says nothing."""
    command = [*TFLGPU, "benchmark", str(model), "--json"]
    try:
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        return f"took longer than {TIMEOUT} s"
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        message = (lines or done.stderr.splitlines() or ["no message"])[0]
        return message.removeprefix("error: ").rstrip(":")
    value: dict[str, Any] = json.loads(done.stdout)
    return str(value["litert"]["failure"]) if "failure" in value["litert"] else value


def row(network: str, kind: str, value: dict[str, Any]) -> Row:
    kernels = value["kernels"]
    return Row(
        network,
        kind,
        value["median_ms"],
        value["litert"]["median_ms"],
        value["ratio"],
        sum(kernel["ms"] for kernel in kernels),
        # A kernel beyond the roofline has no share of it.
        sum(kernel["ms"] * (kernel["roofline"] or 1) for kernel in kernels),
    )


def geometric_mean(values: Sequence[float]) -> float:
    return exp(fsum(map(log, values)) / len(values))


def print_header(value: dict[str, Any], threads: int) -> None:
    """What a figure means nothing without."""
    roofline = value["roofline"]
    print(f"- date: {date.today()}")
    print(f"- device: {value['device']}, driver {value['driver']}, profile {value['profile']}")
    print(f"- processor: {platform.processor() or platform.machine()}, {platform.platform()}")
    print(f"- versions: tflgpu {version('tflgpu')}, LiteRT {version('ai-edge-litert')}")
    print(f"- LiteRT: XNNPACK, {threads} threads")
    print(f"- the device at its best: {roofline['gflops']:.0f} GFLOP/s, ", end="")
    print(f"{max(item['gbps'] for item in roofline['copies']):.0f} GB/s, ", end="")
    print(f"{roofline['dispatch_us']:.2f} us a dispatch")
    print(f"- command: `python {' '.join(sys.argv)}`\n")
    print("| network | types | tflgpu ms | LiteRT ms | ratio | kernels ms | roofline ms |")
    print("|---|---|---|---|---|---|---|", flush=True)


def print_means(rows: Sequence[Row]) -> None:
    slow = [row for row in rows if row.litert > LEAST_MS]
    print(f"\nGeometric mean of the ratios where LiteRT takes more than {LEAST_MS:g} ms:\n")
    for kind in sorted({row.kind for row in slow}):
        ratios = [row.ratio for row in slow if row.kind == kind]
        print(f"- {kind}: {geometric_mean(ratios):.3f} over {len(ratios)} networks")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a folder of .tflite files, or one file")
    parser.add_argument("--device", default="auto", help="as for tflgpu benchmark")
    parser.add_argument("--target", default="opencl", help="opencl or glsl")
    parser.add_argument("--threads", type=int, default=2, help="LiteRT's")
    parser.add_argument("--rounds", type=int, default=10, help="turns of both")
    parser.add_argument("--tuning", default="", help="a table of `tflgpu compile --tune`")
    given = parser.parse_args()
    options = [f"--{name}={value}" for name, value in vars(given).items() if name != "folder"]
    folder: Path = given.folder
    models = sorted(folder.rglob("*.tflite")) if folder.is_dir() else [folder]
    rows: list[Row] = []
    failures: list[tuple[str, str]] = []
    for model in models:
        name = str(model.relative_to(folder)) if folder.is_dir() else model.name
        value = measure(model, options)
        if isinstance(value, str):
            failures.append((name, value))
            continue
        if not rows:
            print_header(value, given.threads)
        found = row(name, kind(model), value)
        rows.append(found)
        times = (found.tflgpu, found.litert, found.ratio, found.kernels, found.roofline)
        cells = " | ".join(f"{time:.2f}" for time in times)
        print(f"| {name} | {found.kind} | {cells} |", flush=True)
    if rows:
        print_means(rows)
    for name, reason in failures:
        print(f"- not run: {name}: {reason}")
    sys.exit(not rows)


if __name__ == "__main__":
    main()
