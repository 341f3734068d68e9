"""The result of a benchmark: times, memory, and how far each kernel is from the roofline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .... import runtime
from ....runtime.plan.records import Plan
from .roofline import KeptRoofline


@dataclass(frozen=True)
class Spread:
    """The distribution of run times, in seconds."""

    lower: float  # First quartile.
    median: float
    upper: float  # Third quartile.
    runs: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        lower, middle, upper = np.percentile(seconds, (25, 50, 75))
        return cls(float(lower), float(middle), float(upper), len(seconds))


@dataclass(frozen=True)
class Rival:
    """Another runtime with the same model and inputs, measured in turns with tflgpu."""

    runs: Spread
    ratio: float  # tflgpu's time divided by its time, the median over the rounds.


@dataclass(frozen=True)
class KernelTime:
    """The time of one dispatch, compared with the roofline."""

    label: str
    file: str
    seconds: float  # Median over the passes.
    flops: int  # Operations, a multiply-add counting as two.
    moved: int  # Bytes of its arguments.
    least_seconds: float  # The shortest time that the device's roofline allows.

    @property
    def speed(self) -> float:
        return self.flops / self.seconds

    @property
    def bandwidth(self) -> float:
        return self.moved / self.seconds

    @property
    def roofline(self) -> float | None:
        """The share of the roofline that it reaches; None beyond it, where it is not the limit."""
        share = self.least_seconds / self.seconds
        return share if share <= 1 else None


@dataclass(frozen=True)
class PartCost:
    """The time of a part on LiteRT, in seconds, medians over the passes."""

    label: str
    file: str
    copy_in: float  # Copies from the device, including the wait for its kernels.
    run: float
    copy_out: float  # Copies to the device.
    crossing: int  # Bytes copied from and to the device.


@dataclass(frozen=True)
class Footprint:
    arena: int
    weights: int
    buffers: int  # Inputs and outputs on the device.
    # Peak memory of this process so far, including the compiler; None if unknown.
    process_peak: int | None


@dataclass(frozen=True)
class Benchmark:
    """All measurements, in seconds. A run includes the copies of inputs and outputs."""

    plan: Plan
    device: runtime.DeviceInfo
    build: float  # The first load, in which the driver compiles the kernels.
    load: float  # A later load, with stored binaries if the driver provides them.
    first_run: float  # The first run after that load.
    runs: Spread
    # Runs of LiteRT with XNNPACK; why it cannot run the model; None if it was left out.
    litert: Rival | str | None
    threads: int
    busy: int  # Other processes that computed meanwhile.
    litert_gpu: Rival | str | None  # The same of LiteRT's GPU accelerator.
    kernels: tuple[KernelTime, ...]  # In the order of dispatch.
    roofline: KeptRoofline
    memory: Footprint
    parts: tuple[PartCost, ...] = ()  # In the order of execution.
