"""The measurement of a compiled model: loading, running, each kernel, and LiteRT for comparison."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from statistics import median
from time import perf_counter
from typing import Any, Literal

import numpy as np

from .... import runtime
from ....runtime.api import load_folder
from ....runtime.execution.exchange import PartTime
from ....runtime.plan.records import HostPart, Plan, Region
from ....runtime.plan.storage import region_size
from ... import pipeline
from ...devices.attached import attached_device
from ...errors import ModelError
from ...frontend.model_file import Model
from ...ir import Array
from ...litert.child import run_apart
from ...litert.reference import Reference
from ...litert.variations import with_state
from ...options import Options
from ...resized_model import fitted_model
from ...scratch import scratch_folder
from ...telling import Progress, silent
from ..compare import Feed
from ..trace.events import Trace
from ..trace.session import Observer
from .litert_gpu import Accelerated
from .result import Benchmark, Footprint, KernelTime, PartCost, Rival, Spread
from .roofline import Roofline, bytes_moved, roofline_of

RUNS = 4  # Timed runs of each contestant per round.
# How long rounds take together at least, beside other programs: the system gives these turns of
# several milliseconds, so that a few short runs are all fast or all slow.
BUSY_SECONDS = 6.0
PASSES = 9  # Runs in which each kernel is timed, of which the median counts.
Run = Callable[[], Any]  # Runs a model once, including the copies of inputs and outputs.
Prepare = Callable[[], Run]  # Makes what runs it (ModelError if another runtime cannot).


@dataclass(frozen=True)
class Measuring:
    """How to measure, and what besides."""

    rounds: int  # At least so many; in each, contestants take turns.
    min_seconds: float | None  # Rounds take at least so long, together; None for what `busy` needs.
    warm_up: int  # Runs, after the first, before anything is measured.
    threads: int  # Of LiteRT.
    litert: bool  # Whether LiteRT with XNNPACK is a contestant.
    litert_gpu: bool  # Whether LiteRT's GPU accelerator is one.
    busy: int  # Other processes that compute during the rounds.


def benchmark(
    model: Model,
    options: Options,
    feed: Feed,
    how: Measuring,
    trace: Trace | None = None,
    progress: Progress = silent,
) -> Benchmark:
    """Compile into a temporary cache, load, and measure.

    `trace` records the stages of the compiler, and loading and running the model once more at the
    end. Raises what compiling and loading raise; with LiteRT also ReferenceMissingError if it is
    not installed. If it cannot run the model, the result says why.
    """
    name = attached_device(options.device)
    with scratch_folder() as cache:
        watched = trace.stages(progress) if trace else progress
        compiled = pipeline.build(model, options, watched)
        watched("write", 0, 1)
        path = pipeline.write(compiled, cache)
        if trace:
            trace.end_stage()
        progress("load", 0, 1)
        build = _time(lambda: runtime.load(path, device=name).close())
        start = perf_counter()
        session = runtime.load(path, device=name)
        load = perf_counter() - start
        with session:
            arrays = feed(session.inputs)
            first_run = _time(lambda: session.run(arrays))
            _warm_up(lambda: session.run(arrays), how.warm_up)
            memory = _footprint(session.plan)
            whole, key = fitted_model(model, options, pipeline.target_of(options))
            prepared = (
                how.litert and (lambda: _litert(whole, arrays, how.threads, key)),
                how.litert_gpu and (lambda: _litert_gpu(whole, arrays)),
            )
            runs, (cpu, gpu) = _contest(lambda: session.run(arrays), prepared, how, progress)
            progress("kernels", 0, 1)
            times = [[time for _, time in session.profile(arrays)] for _ in range(PASSES)]
            costs = [session.profile_parts(arrays) for _ in range(PASSES)]
            device = session.device
        if trace:
            progress("trace", 0, 1)
            observer = Observer(trace)
            with load_folder(path, None, name, watch=observer) as session:
                observer.run(session, arrays)
    progress("roofline", 0, 1)
    roofline = roofline_of(device, pipeline.target_of(options))
    return Benchmark(
        plan=compiled.plan,
        device=device,
        build=build,
        load=load,
        first_run=first_run,
        runs=runs,
        litert=cpu,
        threads=how.threads,
        busy=how.busy,
        litert_gpu=gpu,
        kernels=_kernels(compiled.plan, times, roofline.roofline),
        roofline=roofline,
        memory=memory,
        parts=_parts(compiled.plan, costs),
    )


def _contest(
    run: Run, others: Sequence[Prepare | Literal[False]], how: Measuring, progress: Progress
) -> tuple[Spread, Sequence[Rival | str | None]]:
    """The times of a run, and what became of others, which take turns with it; None if left out."""
    ready = [_ready(each, how.warm_up) if each else None for each in others]
    enough = BUSY_SECONDS if how.busy else 0.0
    seconds = enough if how.min_seconds is None else how.min_seconds
    with others_busy(how.busy):
        ours, *theirs = _rounds([run, *filter(callable, ready)], how.rounds, seconds, progress)
    measured = (Rival(_spread(each), _ratio(ours, each)) for each in theirs)
    return _spread(ours), [next(measured) if callable(each) else each for each in ready]


def _time(run: Run) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def _warm_up(run: Run, times: int) -> None:
    for _ in range(times):
        run()


def _ready(prepare: Prepare, warm_up: int) -> Run | str:
    """A run of another runtime, warmed up; or why it cannot run the model."""
    try:
        run = prepare()
        _warm_up(run, warm_up)
    except ModelError as error:
        return str(error)
    return run


def _litert(model: Model, arrays: Mapping[str, Array], threads: int, signature: str) -> Run:
    """A run of the same model and inputs on LiteRT with XNNPACK (ModelError)."""
    whole = with_state(model, signature, arrays)
    run_apart(model, whole, signature)
    if signature:
        called = Reference(model, threads=threads, kernels="XNNPACK", signature=signature)
        return lambda: called.run(whole)
    inputs = list(whole.values())
    shapes = [array.shape for array in inputs]
    reference = Reference(model, input_shapes=shapes, threads=threads, kernels="XNNPACK")
    return lambda: reference.run(inputs)


def _litert_gpu(model: Model, arrays: Mapping[str, Array]) -> Run:
    """The same on LiteRT's GPU accelerator (ModelError)."""
    accelerated = Accelerated(model)
    inputs = list(with_state(model, "", arrays).values())
    return lambda: accelerated.run(inputs)


def _rounds(
    sides: Sequence[Run], rounds: int, min_seconds: float, progress: Progress
) -> list[list[list[float]]]:
    """Seconds of each contestant, by round. They take turns, so that disturbances hit all alike."""
    results: list[list[list[float]]] = [[] for _ in sides]
    start = perf_counter()
    for number in count():
        elapsed = perf_counter() - start
        if number >= rounds and elapsed >= min_seconds:
            break
        progress("run", number, max(rounds, int(number * min_seconds / max(elapsed, 1e-9))))
        for run, times in zip(sides, results, strict=True):
            # Threads of the previous contestant may still spin, and caches hold its data.
            run()
            times.append([_time(run) for _ in range(RUNS)])
    return results


def _spread(rounds: list[list[float]]) -> Spread:
    return Spread.of(np.ravel(rounds).tolist())


def _ratio(ours: list[list[float]], theirs: list[list[float]]) -> float:
    """The median over the rounds of the ratio of medians, which is robust on a busy machine."""
    return median(median(mine) / median(other) for mine, other in zip(ours, theirs, strict=True))


def _kernels(plan: Plan, times: list[list[float]], roofline: Roofline) -> tuple[KernelTime, ...]:
    # A coarse clock may report 0 for the shortest kernels.
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
    """Peak memory of this process in bytes; None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


# The program: it ends when its parent has.
COMPUTE = """
from os import getppid
parent = getppid()
while getppid() == parent:
    sum(range(100_000))
"""


@contextmanager
def others_busy(programs: int) -> Iterator[None]:
    """A block in which this many other processes compute without a pause (OSError)."""
    with ExitStack() as running:
        for _ in range(programs):
            child = running.enter_context(subprocess.Popen([sys.executable, "-c", COMPUTE]))
            running.callback(child.kill)
        yield
