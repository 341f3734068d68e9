"""Explanation of a compilation: rewrites applied and declined, implementations, and findings."""

from dataclasses import dataclass
from itertools import count
from pathlib import Path

from ..codegen.binding import computes_in_half
from ..errors import Finding, UnsupportedError
from ..events import Event
from ..frontend.model_file import Identity, Model
from ..ir import Graph, Origin
from ..options import Options
from ..pipeline import Unfit, fitting, generate_plan, select, target_of
from ..rewrites.pass_manager import Observer, PassManager, unobserved
from ..sizing.sizes import Sized, size_operators
from ..telling import Progress


@dataclass(frozen=True)
class ImplementationChoice:
    """The implementation chosen for an operator, and which ones were passed over."""

    operators: tuple[Origin, ...]  # The operators of the model file that it computes.
    implementation: str
    others: tuple[str, ...]  # Names of others that can compute them, which would move more bytes.
    unsupported: tuple[tuple[str, str], ...]  # Name of each one that cannot, and why.
    arithmetic: str  # "half" if it multiplies and adds in half precision, "single" if not.
    # Why each of its kernels has its tile and work-group, with the estimate behind it.
    sizes: tuple[str, ...]


def implementation_choices(sized: Sized) -> list[ImplementationChoice]:
    """The choice for each operator that is not a conversion."""
    selected, found = sized.selected, []
    half = {
        item.op
        for item in sized.operators
        for launch in item.launches
        if computes_in_half(item.op, launch, item.implementation, selected.target)
    }
    sizes = {item.op: tuple(launch.why for launch in item.launches) for item in sized.operators}
    for op, legal in selected.candidates.items():
        chosen = selected.choice[op].name
        names = (item.name for item in legal.implementations)
        found.append(
            ImplementationChoice(
                operators=tuple(op.origins),
                implementation=chosen,
                others=tuple(name for name in names if name != chosen),
                unsupported=legal.unsupported,
                arithmetic="half" if op in half else "single",
                sizes=sizes[op],
            )
        )
    return found


@dataclass(frozen=True)
class Explanation:
    profile: str
    operators: int  # Number of operators in the model file; 0 if it cannot be read so far.
    events: tuple[Event, ...]  # Rewrites and views applied and declined.
    # Operators that cannot run. If there are any, `choices` is empty.
    findings: tuple[Finding, ...]
    choices: tuple[ImplementationChoice, ...]
    fallback: tuple[Finding, ...] = ()
    no_half: str = ""  # Why precision="f16" computes in single precision; "" if it does not.


def dump_to(folder: Path) -> Observer:
    """An observer that writes the graph after each rewrite to 00_read.txt, 01_inline_....txt."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = count()

    def write(stage: str, graph: Graph) -> None:
        (folder / f"{next(numbers):02}_{stage}.txt").write_text(f"{graph.text}\n")

    return write


def explain(
    model: Model, options: Options, progress: Progress, dump: Path | None = None
) -> Explanation:
    """Compile a model for a single choice of input shapes, and return the decisions.

    With `dump` the graph after each rewrite is written into that folder as text (OSError). Raises
    what `pipeline.build` raises, except UnsupportedError, whose findings are returned.
    """
    target = target_of(options)
    events: list[Event] = []
    operators = 0

    def attempt(unfit: Unfit) -> Explanation:
        nonlocal events
        write = dump_to(dump) if dump else unobserved

        def observe(stage: str, graph: Graph) -> None:
            nonlocal operators
            operators = len(graph) if stage == "read" else operators
            write(stage, graph)

        passes = PassManager(target, options.disable_passes, progress, observe)
        events = passes.events
        sized = size_operators(select(model, options, target, passes, unfit))
        choices = tuple(implementation_choices(sized))
        compiled = generate_plan([sized], options, Identity("", ""), progress)
        return Explanation(
            target.device.name,
            operators,
            compiled.events,
            (),
            choices,
            compiled.fallback,
            no_half=f"the profile {target.device.name} has no half_arithmetic in {target.language}"
            if target.precision == "f16" and not target.half_arithmetic
            else "",
        )

    try:
        return fitting(options, attempt)
    except UnsupportedError as error:
        return Explanation(target.device.name, operators, tuple(events), error.findings, ())
