"""How many work-items keep what they have in local memory at a time, for others to join.

Usually all do. Where local memory is cleared before a work-group begins, which takes the longer the
more there is, they take turns: those of later turns join what they have with what is there.
"""

from ..target import Target

SEATS = 16
"""Slices that are kept at a time where local memory is cleared."""

A_BARRIER = 2
"""Slices that a work-item adds up for each barrier at which others take turns, at least. A software
driver changes to other work-items there."""


def seats(items: int, target: Target) -> int:
    """How many of so many work-items, a power of two, keep a slice each at a time."""
    return min(items, SEATS) if target.language.clears_local_memory else items
