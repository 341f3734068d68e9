"""How fast a compiled model is: loading, running, each kernel, and LiteRT beside it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from .... import runtime
from ....runtime.execution import PartTime
from ....runtime.plan.records import HostPart, Plan, Region, TensorInfo
from ....runtime.plan.storage import region_size
from ... import pipeline
from ...devices.attached import attached_device
from ...ir import Array
from ...litert.reference import Model, Reference
from ...options import Options
from .kept_roofline import KeptRoofline, roofline_of
from .litert_gpu import Accelerated
from .roofline import Roofline, bytes_moved

WARM_UP = 5
"""Runs before anything is measured, apart from the first one."""
RUNS = 4
"""Timed runs of each side in a round."""
PASSES = 9
"""Runs in which each kernel is timed; the median counts."""

Feed = Callable[[Sequence[TensorInfo]], Mapping[str, Array]]
"""Makes the arrays for a model's inputs once their names and shapes are known."""
Run = Callable[[], Any]


@dataclass(frozen=True)
class Spread:
    """Seconds of many runs."""

    lower: float
    """First quartile."""
    median: float
    upper: float
    """Third quartile."""
    runs: int

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Spread:
        lower, middle, upper = np.percentile(seconds, (25, 50, 75))
        return cls(float(lower), float(middle), float(upper), len(seconds))


@dataclass(frozen=True)
class Rival:
    """Another runtime with the same model and inputs, in turns with ours."""

    runs: Spread
    ratio: float
    """Our time divided by its time: the median over the rounds."""


@dataclass(frozen=True)
class KernelTime:
    """One dispatch: what it does, how long it takes, and how long it would have to."""

    label: str
    file: str
    seconds: float
    """Median over the passes."""
    flops: int
    moved: int
    """Bytes of its arguments."""
    least_seconds: float
    """What the roofline of the device allows."""

    @property
    def roofline(self) -> float:
        """Share of what the device can do at best."""
        return self.least_seconds / self.seconds


@dataclass(frozen=True)
class PartCost:
    """A part that runs on LiteRT between dispatches: seconds, each the median over the passes."""

    label: str
    file: str
    copy_in: float
    """From the device, its kernels waited for."""
    run: float
    copy_out: float
    """To the device."""
    crossing: int
    """Bytes copied from and to the device."""


@dataclass(frozen=True)
class Footprint:
    """Bytes."""

    arena: int
    weights: int
    buffers: int
    """Of the inputs and outputs on the device."""
    process_peak: int | None
    """Most memory this process had so far, compiler included; None where no one knows."""


@dataclass(frozen=True)
class Benchmark:
    """Everything measured, in seconds. A run is upload, dispatch and download together."""

    plan: Plan
    device: runtime.DeviceInfo
    build: float
    """The first load, in which the driver compiles the kernels."""
    load: float
    """A later load, with the binaries stored beside the plan where the device has such."""
    first_run: float
    """The first run after that load."""
    runs: Spread
    litert: Rival | None
    """The same for LiteRT with XNNPACK: inputs copied in, invoked, outputs copied out."""
    threads: int
    """Its threads."""
    litert_gpu: Rival | None
    """The same for LiteRT's own GPU accelerator."""
    kernels: tuple[KernelTime, ...]
    """In the order of dispatch."""
    roofline: KeptRoofline
    memory: Footprint
    parts: tuple[PartCost, ...] = ()
    """In the order in which they run."""


def benchmark(
    model: Model,
    options: Options,
    feed: Feed,
    *,
    rounds: int = 10,
    threads: int = 2,
    litert: bool = True,
    litert_gpu: bool = False,
    progress: pipeline.Progress = pipeline.silent,
) -> Benchmark:
    """Compile into a temporary cache, load, and measure.

    Raises what compiling and loading raise; with `litert` or `litert_gpu` also
    ReferenceMissingError if LiteRT is not installed, and ModelError if it does not run the model.
    """
    name = attached_device(options.device)
    with tempfile.TemporaryDirectory(prefix="tflgpu-") as cache:
        compiled = pipeline.build(model, options, progress)
        path = pipeline.store(compiled, Path(cache))
        progress("load", 0, 1)
        start = perf_counter()
        runtime.load(path, device=name).close()
        build = perf_counter() - start
        start = perf_counter()
        session = runtime.load(path, device=name)
        load = perf_counter() - start
        with session:
            arrays = feed(session.inputs)
            first_run = _time(lambda: session.run(arrays))
            _warm_up(lambda: session.run(arrays))
            memory = _footprint(session.plan)
            sides = [lambda: session.run(arrays)]
            if litert:
                sides.append(_litert(model, session, arrays, threads, options.signature))
            if litert_gpu:
                sides.append(_litert_gpu(model, session, arrays))
            ours, *others = _rounds(sides, rounds, progress)
            progress("kernels", 0, 1)
            times = [[time for _, time in session.profile(arrays)] for _ in range(PASSES)]
            costs = [session.profile_parts(arrays) for _ in range(PASSES)]
            device = session.device
    progress("roofline", 0, 1)
    roofline = roofline_of(device, pipeline.target_of(options))
    rivals = [Rival(_spread(theirs), _ratio(ours, theirs)) for theirs in others]
    return Benchmark(
        plan=compiled.plan,
        device=device,
        build=build,
        load=load,
        first_run=first_run,
        runs=_spread(ours),
        litert=rivals[0] if litert else None,
        threads=threads,
        litert_gpu=rivals[-1] if litert_gpu else None,
        kernels=_kernels(compiled.plan, times, roofline.roofline),
        roofline=roofline,
        memory=memory,
        parts=_parts(compiled.plan, costs),
    )


def _time(run: Run) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def _warm_up(run: Run) -> None:
    for _ in range(WARM_UP):
        run()


def _litert(
    model: Model,
    session: runtime.Session,
    arrays: Mapping[str, Array],
    threads: int,
    signature: str,
) -> Run:
    """The same model and inputs on LiteRT's CPU kernels, warmed up."""
    if signature:
        called = Reference(model, threads=threads, delegates=True, signature=signature)
        _warm_up(lambda: called.run(arrays))
        return lambda: called.run(arrays)
    shapes = [info.shape for info in session.inputs]
    reference = Reference(model, input_shapes=shapes, threads=threads, delegates=True)
    inputs = [arrays[info.name] for info in session.inputs]
    _warm_up(lambda: reference.run(inputs))
    return lambda: reference.run(inputs)


def _litert_gpu(model: Model, session: runtime.Session, arrays: Mapping[str, Array]) -> Run:
    """The same on LiteRT's GPU accelerator, warmed up."""
    accelerated = Accelerated(model)
    inputs = [arrays[info.name] for info in session.inputs]
    _warm_up(lambda: accelerated.run(inputs))
    return lambda: accelerated.run(inputs)


def _rounds(
    sides: Sequence[Run], rounds: int, progress: pipeline.Progress
) -> list[list[list[float]]]:
    """Seconds of each side by round. They take turns, so that all have the same bad moments."""
    results: list[list[list[float]]] = [[] for _ in sides]
    for number in range(rounds):
        progress("run", number, rounds)
        for run, times in zip(sides, results, strict=True):
            # Threads of the other sides may still be spinning, and the caches hold their data.
            run()
            times.append([_time(run) for _ in range(RUNS)])
    return results


def _spread(rounds: list[list[float]]) -> Spread:
    return Spread.of(np.ravel(rounds).tolist())


def _ratio(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """The median over the rounds of the medians' ratio, which a busy machine disturbs least."""
    return median(median(mine) / median(other) for mine, other in zip(ours, theirs, strict=True))


def _kernels(plan: Plan, times: list[list[float]], roofline: Roofline) -> tuple[KernelTime, ...]:
    # A clock too coarse for the shortest kernels gives zeros.
    seconds = np.maximum(np.median(times, axis=0), 1e-9)
    return tuple(
        KernelTime(
            label=dispatch.label,
            file=plan.kernels[dispatch.kernel].file,
            seconds=float(time),
            flops=dispatch.flops,
            moved=bytes_moved(dispatch),
            least_seconds=roofline.seconds(dispatch.flops, bytes_moved(dispatch)),
        )
        for dispatch, time in zip(plan.dispatches, seconds, strict=True)
    )


def _parts(plan: Plan, costs: Sequence[Sequence[PartTime]]) -> tuple[PartCost, ...]:
    def crossing(part: HostPart) -> int:
        tensors = (plan.host_tensors[index] for index in {*part.inputs, *part.outputs})
        return sum(tensor.place.size for tensor in tensors if tensor.place is not None)

    return tuple(
        PartCost(
            part.label,
            part.file,
            median(time.copy_in for time in times),
            median(time.run for time in times),
            median(time.copy_out for time in times),
            crossing(part),
        )
        for part, *times in zip(plan.parts, *costs, strict=True)
    )


def _footprint(plan: Plan) -> Footprint:
    buffers = sum(
        region_size(plan, region, index)
        for region, infos in ((Region.INPUT, plan.inputs), (Region.OUTPUT, plan.outputs))
        for index in range(len(infos))
    )
    return Footprint(plan.arena_size, plan.weights_size, buffers, process_peak())


def process_peak() -> int | None:
    """The most bytes of memory this process had at any time, where the system says so."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
