"""The data flow of a plan: which step computes what another step reads.

A plan lists steps (dispatches, and parts on the host) with the bytes they read and write. A step
depends on the earlier ones that wrote to these bytes since the tensor there came to life.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...runtime.plan.records import Argument, PlacedTensor, Plan, Region
from ..emit.facts import overlap

Place = tuple[Region, int]  # A buffer: its region, and the number of the input, output or variable.

# What the nodes for a model's own buffers are named, each followed by a number.
NAMES = {Region.INPUT: "input", Region.OUTPUT: "output", Region.STATE: "variable"}


@dataclass(frozen=True)
class Step:
    """A dispatch, or a part on LiteRT or in Python."""

    kind: str  # dispatch or part.
    index: int  # Which of its kind it is.
    number: int  # The number of dispatches before it.
    reads: tuple[Argument, ...]  # What it reads on the device, weights not included.
    writes: tuple[Argument, ...]
    received: tuple[int, ...] = ()  # The host tensors that a part reads in host memory.
    returned: tuple[int, ...] = ()  # The host tensors that a part leaves in host memory.

    @property
    def name(self) -> str:
        """The name of its node, such as dispatch3."""
        return f"{self.kind}{self.index}"


class Edge(NamedTuple):
    source: str
    target: str
    shape: tuple[int, ...] | None  # The shape of the tensor; None if the plan does not list it.


def steps(plan: Plan) -> Iterator[Step]:
    """The steps of a plan in the order of execution."""
    for number in range(len(plan.dispatches) + 1):
        for index, part in enumerate(plan.parts):
            if part.before == number:
                read = [plan.host_tensors[tensor].place for tensor in part.inputs]
                written = [plan.host_tensors[tensor].place for tensor in part.outputs]
                yield Step(
                    "part",
                    index,
                    number,
                    tuple(place for place in read if place),
                    tuple(place for place in written if place),
                    tuple(i for i in part.inputs if plan.host_tensors[i].place is None),
                    part.outputs,
                )
        if number < len(plan.dispatches):
            arguments = [
                a for a in plan.dispatches[number].arguments if a.region is not Region.WEIGHTS
            ]
            yield Step(
                "dispatch",
                number,
                number,
                tuple(argument for argument in arguments if not argument.writes),
                tuple(argument for argument in arguments if argument.writes),
            )


def edges(plan: Plan) -> list[Edge]:
    """The edges between steps, and from inputs and variables and to outputs, each once."""
    flow = _Flow(plan)
    found = [edge for step in steps(plan) for edge in flow.into(step)]
    found += flow.into_outputs()
    return list(dict.fromkeys(found))


class Tensors:
    """The placed tensors of a plan, found by the bytes they lie in."""

    def __init__(self, placed: Sequence[PlacedTensor]) -> None:
        self._by_place: dict[Place, list[PlacedTensor]] = defaultdict(list)
        for tensor in placed:
            self._by_place[tensor.region, tensor.index].append(tensor)

    def alive(self, argument: Argument, number: int) -> list[PlacedTensor]:
        """The tensors alive at a dispatch that share bytes with an argument."""
        return [
            tensor
            for tensor in self._by_place[argument.region, argument.index]
            if tensor.first <= number <= tensor.last and overlap(tensor, argument)
        ]

    def at(self, argument: Argument, number: int) -> PlacedTensor | None:
        """The tensor that an argument of a dispatch is, or is a part of."""
        whole = (argument.offset, argument.size)
        return min(
            self.alive(argument, number),
            key=lambda tensor: ((tensor.offset, tensor.size) != whole, tensor.size),
            default=None,
        )


@dataclass(frozen=True)
class _Write:
    source: str
    number: int
    start: int
    end: int


class _Flow:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._tensors = Tensors(plan.tensors)
        self._written: dict[Place, list[_Write]] = defaultdict(list)
        self._on_host: dict[int, str] = {}  # The part that computes each host tensor.

    def into(self, step: Step) -> Iterator[Edge]:
        """The edges into a step, whose writes are then noted."""
        for argument in step.reads:
            tensor = self._tensors.at(argument, step.number)
            for source in self._sources(argument, step.number):
                yield Edge(source, step.name, tensor.shape if tensor else None)
        for index in step.received:
            host = self._plan.host_tensors[index]
            source = f"input{host.input}" if host.input >= 0 else self._on_host[index]
            yield Edge(source, step.name, host.shape)
        for argument in step.writes:
            start, end = argument.offset, argument.offset + argument.size
            place = (argument.region, argument.index)
            self._written[place].append(_Write(step.name, step.number, start, end))
        for index in step.returned:
            self._on_host[index] = step.name

    def into_outputs(self) -> Iterator[Edge]:
        for index, info in enumerate(self._plan.outputs):
            for write in self._written[Region.OUTPUT, index]:
                yield Edge(write.source, f"output{index}", info.shape)
        for index, source in self._on_host.items():
            host = self._plan.host_tensors[index]
            if host.output >= 0:
                yield Edge(source, f"output{host.output}", host.shape)

    def _sources(self, argument: Argument, number: int) -> list[str]:
        alive = self._tensors.alive(argument, number)
        born = min((tensor.first for tensor in alive), default=0)
        end = argument.offset + argument.size
        sources = [
            write.source
            for write in self._written[argument.region, argument.index]
            if write.number >= born and write.start < end and argument.offset < write.end
        ]
        given = argument.region in (Region.INPUT, Region.STATE) and not sources
        return [f"{NAMES[argument.region]}{argument.index}"] if given else sources
