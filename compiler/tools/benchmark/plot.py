"""A bar chart of kernel times. Only this file imports matplotlib."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

from ....runtime.errors import TflgpuError
from ....runtime.printable import printable
from .result import Benchmark

FORMATS = (".png", ".svg", ".pdf")
LONGEST = 70
"""Most characters of a label; longer ones are shortened in the middle."""
COLORS = ("#b3401f", "#d99a2b", "#2f7d5b")
"""For kernels below a third of the roofline, below two thirds, and above."""


class PlotError(TflgpuError):
    """The chart cannot be drawn: matplotlib is missing, or the file cannot be written."""


def require() -> ModuleType:
    """matplotlib's module of figures (PlotError if it cannot be imported)."""
    try:
        from matplotlib import figure
    except ImportError as error:
        raise PlotError(
            f"plots need matplotlib, which cannot be imported ({error}): pip install 'tflgpu[plot]'"
        ) from error
    module: ModuleType = figure
    return module


def plot(result: Benchmark, path: Path) -> None:
    """Draw the kernels in the order of dispatch, coloured by their share of the roofline.

    The suffix of `path`, one of `FORMATS`, determines the format. PlotError if matplotlib is
    missing or the file cannot be written.
    """
    kernels = result.kernels
    figure = require().Figure(figsize=(11, 1.8 + 0.24 * len(kernels)), layout="constrained")
    axes = figure.subplots()
    labels = [printable(kernel.label, LONGEST) for kernel in kernels]
    milliseconds = [kernel.seconds * 1e3 for kernel in kernels]
    colors = [COLORS[min(int((kernel.roofline or 1) * 3), 2)] for kernel in kernels]
    axes.barh(range(len(kernels)), milliseconds, color=colors)
    axes.set_yticks(range(len(kernels)), labels, fontsize=8)
    # Tensor names may contain dollar signs, which matplotlib would parse as formulas.
    for label in axes.get_yticklabels():
        label.set_parse_math(False)
    axes.set_ylim(len(kernels) - 0.4, -0.6)
    axes.set_xlabel("milliseconds")
    figure.suptitle(
        f"{result.plan.model}: {result.runs.median * 1e3:.2f} ms a run, "
        f"{sum(milliseconds):.2f} ms in kernels\n{result.device.name}",
        fontsize=10,
        parse_math=False,
    )
    _legend(axes)
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise PlotError(f"cannot write {path}: {error.strerror or error}") from error


def _legend(axes: Any) -> None:
    names = ("below a third of the roofline", "below two thirds", "above")
    handles = [axes.barh([0], [0], color=color) for color in COLORS]
    axes.legend(handles, names, loc="lower right", fontsize=8)
