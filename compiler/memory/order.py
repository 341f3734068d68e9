"""The order in which operators run, chosen for a low peak of live memory.

The file's order is kept unless another has a lower peak. Three others are tried: a greedy order,
which runs the operator that adds the fewest bytes next; an order in which operators run just before
their results are needed, which suits recurrent networks; and an exact search. The exact search is
Dijkstra's algorithm with the maximum in place of the sum: states are sets of operators that have
run, and the search continues from the state with the lowest peak so far. It gives up on large
graphs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from ...runtime.plan.records import Region
from ..ir import Graph, Tensor
from ..ops.elementwise.cast import KEEP
from ..sizing.sizes import SizedOp
from .aliases import Aliases

STATES = 30_000  # Sets of operators that the exact search reaches before it gives up.
CHOICES = 32  # Most operators among which the greedy order chooses the next one.


@dataclass(frozen=True)
class _Task:
    """The dependencies and memory of one operator; operators are numbered in the file's order."""

    needs: frozenset[int]  # Operators that must run before it.
    touches: tuple[int, ...]  # Groups of tensors in the arena that are alive while it runs.


@dataclass(frozen=True)
class _Problem:
    """All operators and groups of tensors."""

    tasks: Sequence[_Task]
    sizes: Sequence[int]  # Bytes of each group.
    users: Sequence[Sequence[int]]  # The operators that touch each group.
    readers: Sequence[Sequence[int]]  # The operators that need each operator.

    @property
    def bound(self) -> int:
        """A lower bound of the peak: the most bytes that a single operator touches."""
        return max((sum(self.sizes[g] for g in task.touches) for task in self.tasks), default=0)


def execution_order(graph: Graph, sized: Sequence[SizedOp], aliases: Aliases) -> list[SizedOp]:
    """The operators in the order in which they should run."""
    if any(item.op.name == KEEP for item in sized):
        return list(sized)  # a variable must be written after it is read
    problem = _problem(graph, sized, aliases)
    best = list(range(len(sized)))
    lowest = _peak(problem, best)
    if lowest > problem.bound:
        for order in (_greedy(problem), _on_demand(problem), _exact(problem, lowest)):
            if order is not None and (peak := _peak(problem, order)) < lowest:
                best, lowest = order, peak
    return [sized[position] for position in best]


def _problem(graph: Graph, sized: Sequence[SizedOp], aliases: Aliases) -> _Problem:
    positions = {item.op: position for position, item in enumerate(sized)}
    groups: dict[Tensor, int] = {}
    tasks: list[_Task] = []
    readers: list[list[int]] = [[] for _ in sized]
    for position, item in enumerate(sized):
        op = item.op
        needs = frozenset(positions[producer] for producer in graph.producers(op.reads))
        roots = {aliases.root(t): None for t in (*op.reads, *op.outputs) if not t.constant}
        arena = [root for root in roots if aliases.region(root)[0] == Region.ARENA]
        touches = tuple(groups.setdefault(root, len(groups)) for root in arena)
        tasks.append(_Task(needs, touches if item.launches else ()))
        for need in needs:
            readers[need].append(position)
    users: list[list[int]] = [[] for _ in groups]
    for position, task in enumerate(tasks):
        for group in task.touches:
            users[group].append(position)
    return _Problem(tasks, [aliases.size(root) for root in groups], users, readers)


def _peak(problem: _Problem, order: Sequence[int]) -> int:
    """The most bytes alive at once if operators run in this order."""
    live = peak = 0
    left = [len(users) for users in problem.users]
    begun = [False] * len(left)
    for position in order:
        for group in problem.tasks[position].touches:
            live += 0 if begun[group] else problem.sizes[group]
            begun[group] = True
        peak = max(peak, live)
        for group in problem.tasks[position].touches:
            left[group] -= 1
            live -= 0 if left[group] else problem.sizes[group]
    return peak


def _on_demand(problem: _Problem) -> list[int]:
    """An order in which operators run just before their results are needed, long chains first."""
    depths: list[int] = []
    for task in problem.tasks:
        depths.append(1 + max((depths[need] for need in task.needs), default=0))
    last = [position for position, readers in enumerate(problem.readers) if not readers]
    waiting = sorted(last, key=depths.__getitem__)
    order: dict[int, None] = {}
    while waiting:
        needs = [need for need in problem.tasks[waiting[-1]].needs if need not in order]
        if needs:
            # Results of short chains are not alive then while a long one is computed.
            waiting.append(max(needs, key=lambda need: (depths[need], need)))
        else:
            order[waiting.pop()] = None
    return list(order)


def _greedy(problem: _Problem) -> list[int]:
    """An order that always continues with the operator that adds the fewest live bytes."""
    waiting = [len(task.needs) for task in problem.tasks]
    left = [len(users) for users in problem.users]
    begun = [False] * len(left)
    ready = [position for position, count in enumerate(waiting) if not count]
    order: list[int] = []

    def growth(position: int) -> tuple[int, int]:
        added = 0
        for group in problem.tasks[position].touches:
            added += 0 if begun[group] else problem.sizes[group]
            added -= problem.sizes[group] if left[group] == 1 else 0
        return added, position

    while ready:
        chosen = min(ready[:CHOICES], key=growth)
        ready.remove(chosen)
        order.append(chosen)
        for group in problem.tasks[chosen].touches:
            begun[group] = True
            left[group] -= 1
        for reader in problem.readers[chosen]:
            waiting[reader] -= 1
            if not waiting[reader]:
                ready.append(reader)
    return order


def _exact(problem: _Problem, limit: int) -> list[int] | None:
    """The order with the lowest peak, if it is below `limit`; None if the search gives up.

    The live bytes depend only on the set of operators that have run, not on their order, so that
    such a set, as a bit mask, is a complete state and only its lowest peak matters.
    """
    count = len(problem.tasks)
    masks: Mapping[int, int] = {i: _mask(task.needs) for i, task in enumerate(problem.tasks)}
    users = [_mask(positions) for positions in problem.users]
    came: dict[int, tuple[int, int]] = {0: (0, -1)}
    # Ordered by peak, then depth: among equal peaks, nearly finished orders come first.
    open_states = [(0, 0, 0, 0, tuple(i for i in masks if not masks[i]))]
    finished: set[int] = set()
    while open_states and len(came) < STATES:
        peak, negative_depth, live, done, ready = heappop(open_states)
        if done in finished:
            continue  # an outdated entry: the state was reached with a lower peak meanwhile
        finished.add(done)
        if -negative_depth == count:
            return _walk_back(came, done)
        for position in ready:
            during, after, now = live, live, done | 1 << position
            for group in problem.tasks[position].touches:
                # A group is alive from its first user on, and freed once all its users have run,
                # that is, once their mask adds no bit to `now`.
                begun, size = users[group] & done, problem.sizes[group]
                during += 0 if begun else size
                after += (0 if begun else size) - (size if users[group] | now == now else 0)
            reached = max(peak, during)
            if now in finished or reached >= limit or came.get(now, (limit, 0))[0] <= reached:
                continue
            came[now] = (reached, position)
            new = [r for r in problem.readers[position] if masks[r] | now == now]
            rest = tuple(sorted([r for r in ready if r != position] + new))
            heappush(open_states, (reached, negative_depth - 1, after, now, rest))
    return None


def _mask(positions: Iterable[int]) -> int:
    return sum(1 << position for position in positions)


def _walk_back(came: Mapping[int, tuple[int, int]], done: int) -> list[int]:
    """The order in which a state was reached, from the operator that ran last in each state."""
    order = []
    while done:
        position = came[done][1]
        order.append(position)
        done ^= 1 << position
    return order[::-1]
