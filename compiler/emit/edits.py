"""Kernels of a compiled model changed by hand: the plan and the files that follow from that.

    <variant>/plan.tflgpu           with the digests of the changed files, and `edits`
              kernels/002_conv.cl   as changed
              originals/            plan.tflgpu and the files that changed, as they were compiled

A persistent kernel contains the bodies of the kernels that it computes, so it changes with them.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...runtime.cache.variant import ORIGINALS, PLAN
from ...runtime.errors import InputError
from ...runtime.plan.file import to_bytes
from ...runtime.plan.kernels import Body, Kernel
from ...runtime.plan.records import Plan
from ...runtime.plan.seal import sealed


@dataclass(frozen=True)
class Edited:
    plan: Plan
    sources: Mapping[str, str]
    # What the edits replaced, by path in the variant's folder; empty without edits.
    originals: Mapping[str, bytes]


def apply_edits(plan: Plan, sources: Mapping[str, str], texts: Mapping[int, str]) -> Edited:
    """Replace the files of some kernels, by index, in a plan and its sources as they were compiled.

    InputError if a change cannot be carried over to a persistent kernel.
    """
    texts = {index: text for index, text in texts.items() if text != sources[_file(plan, index)]}
    if not texts:
        return Edited(plan, sources, {})
    new = {_file(plan, index): text for index, text in texts.items()}
    bodies = {index: _body(plan, sources, index, text) for index, text in texts.items()}
    kernels = []
    for index, kernel in enumerate(plan.kernels):
        if index in texts:
            own = bodies[index]
            kernel = replace(kernel, bodies=() if own is None else (own,))
        elif any(body.kernel in texts for body in kernel.bodies):
            new[kernel.file], kernel = _with_bodies(plan, sources, kernel, new, bodies)
        if kernel.file in new:
            kernel = replace(kernel, sha256=hashlib.sha256(new[kernel.file].encode()).digest())
        kernels.append(kernel)
    originals = {f"{ORIGINALS}/{file}": sources[file].encode() for file in new}
    return Edited(
        sealed(replace(plan, kernels=tuple(kernels), edits=tuple(sorted(texts)))),
        {**sources, **new},
        {f"{ORIGINALS}/{PLAN}": to_bytes(plan), **originals},
    )


def _file(plan: Plan, index: int) -> str:
    return plan.kernels[index].file


def _body(plan: Plan, sources: Mapping[str, str], index: int, text: str) -> Body | None:
    """Where the body lies in changed text; None if more changed than it and the comment on top."""
    kernel = plan.kernels[index]
    if not kernel.bodies:
        return None
    head, tail = _around(sources[kernel.file], kernel.bodies[0])
    changed = text.rstrip()
    code = _without_comment(changed)
    if not (code.startswith(head) and code.endswith(tail) and len(code) >= len(head + tail)):
        return None
    start = len(changed.encode()) - len(code.encode()) + len(head.encode())
    return Body(index, start, len(changed.encode()) - start - len(tail.encode()))


def _around(source: str, body: Body) -> tuple[str, str]:
    """What comes before a body, without the comment at the top, and what comes after it."""
    content = source.rstrip().encode()
    before, after = content[: body.start], content[body.start + body.size :]
    return _without_comment(before.decode()), after.decode()


def _without_comment(text: str) -> str:
    lines = text.splitlines(keepends=True)
    while lines and (lines[0].startswith("//") or not lines[0].strip()):
        del lines[0]
    return "".join(lines)


def _with_bodies(
    plan: Plan,
    sources: Mapping[str, str],
    kernel: Kernel,
    new: Mapping[str, str],
    bodies: Mapping[int, Body | None],
) -> tuple[str, Kernel]:
    """The text and the record of a persistent kernel with changed bodies (InputError)."""
    content, text, end = sources[kernel.file].encode(), b"", 0
    placed = []
    for body in kernel.bodies:
        text += content[end : body.start]
        end = body.start + body.size
        taken = body.within(content)
        if body.kernel in bodies:
            own, edited = bodies[body.kernel], plan.kernels[body.kernel]
            if own is None:
                was, now = sources[edited.file], new[edited.file]
                raise InputError(_outside(edited, kernel, was, now))
            taken = own.within(new[edited.file].encode())
        placed.append(Body(body.kernel, len(text), len(taken)))
        text += taken
    return (text + content[end:]).decode(), replace(kernel, bodies=tuple(placed))


def _outside(kernel: Kernel, persistent: Kernel, source: str, text: str) -> str:
    """A message that a change outside of a body cannot be carried over."""
    head, code = _around(source, kernel.bodies[0])[0].splitlines(), _without_comment(text)
    comment = text.count("\n") - code.count("\n")
    pairs = zip(head, code.splitlines(), strict=False)
    line = next((number for number, (was, now) in enumerate(pairs) if was != now), None)
    place = "what follows the closing brace" if line is None else f"line {comment + line + 1}"
    return (
        f"{place} of {kernel.name} was changed, but {persistent.name} computes this kernel as well "
        f"and takes over its body alone: change only what lies between the signature and the "
        f"closing brace; a macro can be defined there"
    )
