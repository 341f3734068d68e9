"""The result of selection, from which kernels are generated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import Finding
from ..events import Event
from ..ir import Graph, Op, Tensor
from .legality import Candidates
from .storage import Choice


@dataclass(frozen=True)
class Selected:
    """A rewritten graph with an implementation per operator and a storage per tensor."""

    graph: Graph
    choice: Choice  # The implementation chosen for each operator, conversions included.
    storages: Mapping[Tensor, str]  # The storage of each tensor that is not a constant.
    operators: int
    # Implementations of each operator, conversions not included.
    candidates: Mapping[Op, Candidates] = field(default_factory=dict)
    events: Sequence[Event] = ()  # Rewrites applied and declined.
    fallback: tuple[Finding, ...] = ()
