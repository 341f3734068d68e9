"""Kernels and memory of models, as tables in Markdown: what KERNELS.md and MEMORY.md record.

    python samples/benchmarks/figures.py kernels --device cpu_avx512 MODEL...
    python samples/benchmarks/figures.py memory --device cpu_avx512 MODEL...

Models are compiled for a device profile, so that no device is needed.
"""

import argparse
from pathlib import Path

from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.rewrites import PIPELINE
from tflgpu.runtime.errors import TflgpuError

MIB = 1 << 20
OPTIONAL = tuple(each.name for each in PIPELINE if not each.required)


def kernels(model: Path, device: str) -> list[str]:
    """Operators in the file, dispatches without the optional rewrites, and with all of them."""
    whole = pipeline.build(model, Options(device=device, fallback="none"))
    options = Options(device=device, fallback="none", disable_passes=OPTIONAL)
    plain = pipeline.build(model, options)
    counts = (whole.operators, len(plain.plan.dispatches), len(whole.plan.dispatches))
    return [str(count) for count in counts]


def memory(model: Path, device: str) -> list[str]:
    """MiB of the tensors between the file's operators, of ours, of the arena, and the least."""
    graph = read(model)
    between = [t for op in graph for t in op.outputs if not graph.is_output(t)]
    written = sum(4 * tensor.elements for tensor in between)
    found = pipeline.build(model, Options(device=device, fallback="none")).plan.memory
    sizes = (written, found.naive, found.planned, found.lower_bound)
    ratio = found.planned / found.lower_bound if found.lower_bound else 1.0
    saved = f"{written / found.planned:.2f}" if found.planned else "-"
    return [*(f"{size / MIB:.3f}" for size in sizes), f"{ratio:.4f}", saved]


TABLES = {
    "kernels": (kernels, ("operators", "kernels, rewrites off", "kernels")),
    "memory": (
        memory,
        ("in the file", "naive", "planned", "lower bound", "planned / bound", "file / planned"),
    ),
}


def row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--device", default="cpu_avx512", help="a profile of `tflgpu devices`")
    arguments = parser.parse_args()
    measure, columns = TABLES[arguments.table]
    print(row(["network", *columns]))
    print(row(["---", *("---:" for _ in columns)]))
    for model in arguments.models:
        try:
            print(row([model.stem, *measure(model, arguments.device)]))
        except TflgpuError as error:
            print(row([model.stem, str(error).splitlines()[0], *("" for _ in columns[1:])]))


if __name__ == "__main__":
    main()
