"""Repeated blocks: runs of operators that occur several times, which the graph shows collapsed."""

from collections.abc import Sequence
from dataclasses import dataclass

SHORTEST, LONGEST = 2, 64  # Operators of a block.
KINDS = 8  # Most kinds of blocks.
# Operators that a kind must save, at least, when each of its blocks is shown as one node.
WORTH = 4


@dataclass(frozen=True)
class Block:
    """A run of operators that occurs elsewhere, too."""

    kind: int  # Blocks of the same operators have the same kind.
    number: int  # Which of its kind it is, from 0.
    of: int  # How many there are of its kind.
    start: int  # Position of its first operator.
    length: int


def repeated_blocks(names: Sequence[str]) -> list[Block]:
    """The blocks in a sequence of operator names, in order; they do not overlap.

    The kind whose blocks hide most operators is taken first, the shortest among equals.
    """
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    sequence: list[int | None] = [numbers[name] for name in names]
    blocks: list[Block] = []
    for kind in range(KINDS):
        length, starts = _best(sequence)
        if not starts:
            break
        for number, start in enumerate(starts):
            blocks.append(Block(kind, number, len(starts), start, length))
            sequence[start : start + length] = [None] * length
    return sorted(blocks, key=lambda block: block.start)


def _best(sequence: Sequence[int | None]) -> tuple[int, list[int]]:
    """Length and starts of the run whose repetitions save most operators; no starts if none do."""
    best_saved, best_length, best_starts = WORTH - 1, 0, list[int]()
    for length in range(SHORTEST, min(LONGEST, len(sequence) // 2) + 1):
        for run, starts in _occurrences(sequence, length).items():
            saved = (length - 1) * (len(starts) - 1)
            if len(starts) > 1 and saved > best_saved and not _repeats(run):
                best_saved, best_length, best_starts = saved, length, starts
    return best_length, best_starts


def _occurrences(
    sequence: Sequence[int | None], length: int
) -> dict[tuple[int | None, ...], list[int]]:
    """Where each run of this length starts; occurrences of one run do not overlap."""
    found: dict[tuple[int | None, ...], list[int]] = {}
    whole = tuple(sequence)
    taken = -1
    for start in range(len(whole) - length + 1):
        if whole[start + length - 1] is None:
            taken = start + length - 1
        if start == 0:
            taken = max((i for i in range(length) if whole[i] is None), default=-1)
        if taken >= start:
            continue
        starts = found.setdefault(whole[start : start + length], [])
        if not starts or starts[-1] + length <= start:
            starts.append(start)
    return found


def _repeats(run: tuple[int | None, ...]) -> bool:
    """Whether a run is itself a shorter one several times over."""
    size = len(run)
    return any(
        run == run[:period] * (size // period)
        for period in range(1, size // 2 + 1)
        if size % period == 0
    )
