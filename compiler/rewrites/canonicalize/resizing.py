"""Sizes that the caller chose for inputs are followed through the graph.

Constants that hold other sizes are fitted on the way. A model whose constants had to be fitted was
made for fixed sizes, and converters use what they know of these: a batch of one is reduced together
with other axes, or disappears. So each operator must be one of which it is known that it computes
the same for other sizes; if not, the model is refused.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import TypeVar

from ...errors import ModelError, UnsupportedError
from ...ir import Graph, Op, Shape, Tensor
from ...ir.sizes import (
    Factor,
    Size,
    Sizes,
    batches,
    by_now,
    has_batch,
    in_file,
    is_batch_alone,
    is_changed,
    regroup,
    sizes_of,
)
from ...ops.reduce.reduce import REDUCTIONS, axes
from ..rewrite import invalid_operator
from .batches import aligned, broadcast, is_left_behind, move, moved, separate, separated, view
from .combined_axes import combined_axes
from .doubts import ALIKE, BROADCAST, UNKNOWN, VIEWS, doubt
from .fit_constants import RESIZES, fitted, image_of, read_instead
from .fit_tables import unclear

T = TypeVar("T")


class Resizing:
    """The sizes of one graph, operator by operator in the order of execution."""

    def __init__(self, graph: Graph) -> None:
        self._graph, self._sizes, self._fits = graph, graph.resized.sizes, graph.resized.fits
        self._known = graph.resized.known
        # Tensors that have kept a batch of one, which the file reduces.
        self._raised: set[Tensor] = set()
        self._doubts: list[ModelError] = []

    def separate(self, op: Op) -> Op:
        """An operator, or what replaces it to compute each entry of a batch alone."""
        if self._sizes.keys().isdisjoint(op.reads):
            return op
        order = moved(self._graph, op, self._known)
        if order is not None:
            return self._apply(op, partial(move, order=order))
        if is_left_behind(op):
            return self._apply(op, broadcast)
        found = separated(op, self._known)
        if found is None:
            return op
        replace = partial(separate, shapes=[tuple(map(by_now, sizes)) for sizes in found])
        product = self._apply(op, replace)
        tensors = (*product.reads, product.output, op.output)
        self._sizes.update(zip(tensors, found, strict=True))
        product.output.shape = tuple(map(in_file, found[-2]))
        op.output.shape = tuple(map(by_now, found[-1]))
        return product

    def fit(self, op: Op) -> bool:
        """Let an operator read fitting constants; whether there are any (ModelError if unclear)."""
        if not self._concerns(op):
            return False
        self._align(op)
        try:
            with invalid_operator(op):
                if why := self._why(op):
                    self._doubts.append(unclear(op, why))
                constants = fitted(self._graph, op)
        except UnsupportedError as error:  # what must be constant is computed
            self._doubts.append(unclear(op, error.findings[0].reason))
            return False
        if constants:
            self._apply(op, partial(read_instead, new=constants))
        return bool(constants)

    def _apply(self, op: Op, fit: Callable[[Graph, Op], T]) -> T:
        """Change an operator, as copies of the graph are to be changed, too."""
        self._fits.append((op, fit))
        return fit(self._graph, op)

    def _concerns(self, op: Op) -> bool:
        """Whether an operator reads other sizes, or is to compute them."""
        reads = [image_of(self._graph, op)] if op.name in RESIZES else op.reads
        return not self._sizes.keys().isdisjoint(reads)

    def _was_fitted(self, op: Op) -> bool:
        return any(op is fitted for fitted, _ in self._fits[-1:])

    def _align(self, op: Op) -> None:
        if op.name not in BROADCAST:
            return
        operands = [op.operand(position) for position in range(len(op.inputs))]
        for position, sizes in aligned([self._known(tensor) for tensor in operands]).items():
            shape = tuple(map(by_now, sizes))
            self._apply(op, partial(view, position=position, shape=shape))
            self._sizes[op.operand(position)] = sizes

    def follow(self, op: Op, filed: Sequence[Shape]) -> None:
        """Note the sizes of an operator's outputs, whose shapes in the file are `filed`."""
        if not self._concerns(op):
            return
        for tensor, before in zip(op.outputs, filed, strict=True):
            with invalid_operator(op):
                sizes = None if tensor.dynamic else self._of(op, before, tensor.shape)
            if sizes is None or tuple(map(by_now, sizes)) != tensor.shape:
                self._doubts.append(unclear(op, f"computes {list(tensor.shape)}"))
                continue
            if any(map(is_changed, sizes)):
                self._sizes[tensor] = sizes
            if not self._keeps_batch(op, sizes):
                self._doubts.append(unclear(op, f"computes {list(before)} for a batch of one"))

    def leave(self, op: Op) -> None:
        """An operator whose shapes are not known yet is left as it is."""
        if not self._sizes.keys().isdisjoint(op.reads):
            self._doubts.append(unclear(op, UNKNOWN))

    def end(self) -> None:
        """ModelError if something was fitted, but an operator may do something else now."""
        self._sizes.clear()
        if self._fits and self._doubts:
            raise self._doubts[0]

    def _keeps_batch(self, op: Op, sizes: Sizes) -> bool:
        """Whether a result has the batch of what it is computed of, once."""
        given = {factor for tensor in op.reads for factor in batches(self._known(tensor))}
        kept = batches(sizes)
        return op.name == "SHAPE" or (len(kept) == 1 and given.issuperset(kept)) or not given

    # -- sizes of results ---------------------------------------------------------------------

    def _of(self, op: Op, filed: Shape, now: Shape) -> Sizes | None:
        """The sizes of an output; None if they are not known."""
        if op.name in ALIKE:
            return self._broadcast(op, len(now))
        source = self._known(op.operand(0))
        if op.name in REDUCTIONS:
            return self._reduced(op, source, len(filed))
        if op.name in VIEWS or (op.name == "GATHER_ND" and self._was_fitted(op)):
            return regroup(source, filed)
        if self._stacks(op):
            axis, count = op.attrs.get("axis", 0) % len(source), len(op.inputs)
            return (*source[:axis], (Factor(count, count), *source[axis]), *source[axis + 1 :])
        if op.name == "TRANSPOSE":
            return tuple(source[axis] for axis in op.integers(1))
        if len(filed) != len(now):
            return None
        if op.name == "SPACE_TO_BATCH_ND":
            # The batch comes first, to stay along this axis where others of one are put in.
            blocks = prod(op.integers(1))
            return ((*source[0], Factor(blocks, blocks)), *sizes_of(filed, now)[1:])
        if op.name == "BATCH_TO_SPACE_ND":
            taken = regroup(source[:1], (filed[0], prod(op.integers(1))))
            return taken and (taken[0], *sizes_of(filed, now)[1:])
        if op.name == "FULLY_CONNECTED" and len(filed) < len(source):
            rows = tuple(factor for size in source[:-1] for factor in size)
            return (rows, (Factor(filed[-1], now[-1]),))
        given = [self._sizes[tensor] for tensor in op.reads if tensor in self._sizes]
        return tuple(
            _found(given, axis - len(now), pair)
            for axis, pair in enumerate(zip(filed, now, strict=True))
        )

    def _broadcast(self, op: Op, rank: int) -> Sizes:
        """Along each axis that of the operand which is longer than one in the file."""
        given = [self._known(tensor) for tensor in op.reads]
        if not self._raised.isdisjoint(op.reads):
            self._raised.update(op.outputs)
        return tuple(
            max(
                (sizes[-place] for sizes in given if place <= len(sizes)),
                key=lambda size: (in_file(size), is_changed(size)),
            )
            for place in range(rank, 0, -1)
        )

    def _reduced(self, op: Op, source: Sizes, rank: int) -> Sizes:
        reduced = axes(op)
        if op.attrs.get("keep_dims", False):
            return tuple(() if axis in reduced else size for axis, size in enumerate(source))
        left = tuple(size for axis, size in enumerate(source) if axis not in reduced)
        if len(left) > rank:
            self._raised.update(op.outputs)
        return left

    # -- operators that may mean something else -----------------------------------------------

    def _why(self, op: Op) -> str | None:
        """What an operator does that may not be meant for other sizes; None if nothing."""
        if not self._raised.isdisjoint(op.reads) and not self._keeps_raised(op):
            return "reads what a batch of one is no longer reduced to"
        if self._mixes_batch(op):
            return "combines entries along an axis in which a batch of one disappeared"
        return doubt(self._graph, op)

    def _keeps_raised(self, op: Op) -> bool:
        """Whether all that it reads has kept the batch, but for single numbers."""
        others = [tensor for tensor in op.reads if tensor not in self._raised]
        return op.name in VIEWS or (op.name in ALIKE and all(t.elements == 1 for t in others))

    def _mixes_batch(self, op: Op) -> bool:
        """Whether entries of several batches may be combined; what is reduced is fitted."""
        if self._stacks(op):
            return False
        sizes = (self._known(op.operand(place))[axis] for place, axis in combined_axes(op))
        return any(
            has_batch(size) and not (op.name in REDUCTIONS and in_file(size) == 1) for size in sizes
        )

    def _stacks(self, op: Op) -> bool:
        """Whether batches of one are joined, one after the other."""
        return op.name == "CONCATENATION" and all(
            is_batch_alone(self._known(op.operand(place))[axis])
            for place, axis in combined_axes(op)
        )


def _found(given: Sequence[Sizes], place: int, pair: tuple[int, int]) -> Size:
    """The factors of an output's size, which are those of an input's axis of that size."""
    nearest = [sizes[place] for sizes in given if -place <= len(sizes)]
    others = [size for sizes in given for size in sizes] if pair[0] != pair[1] else []
    for size in (*nearest, *others):
        if (in_file(size), by_now(size)) == pair:
            return size
    return (Factor(*pair),)
