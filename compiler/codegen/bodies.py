"""Where the bodies of kernels lie in their files.

The plan states it, so that a kernel changed by hand is also changed in the persistent kernels that
compute it. A frame is rendered with a hole for each body, which is filled last.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...runtime.plan.kernels import Body

HOLE = "\0"
"""Stands for a body in a frame. No kernel contains this character."""


def fill(frame: str, bodies: Iterable[tuple[int, str]]) -> tuple[str, tuple[Body, ...]]:
    """The text of a frame, and where its bodies lie in it; each is given with its kernel's index.

    >>> fill(f"a {{{HOLE}}} b {{{HOLE}}}", [(0, "one"), (7, "two")])
    ('a {one} b {two}', (Body(kernel=0, start=3, size=3), Body(kernel=7, start=11, size=3)))
    """
    text, *rest = frame.split(HOLE)
    placed = []
    for (kernel, body), after in zip(bodies, rest, strict=True):
        placed.append(Body(kernel, len(text.encode()), len(body.encode())))
        text += body + after
    return text, tuple(placed)
