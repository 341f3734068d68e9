"""Seals: what each launch of a plan was generated for, in a number.

A kernel is only right for the grid and the sizes that it was generated for: it contains them as
constants, and does not check them again. The seal of a dispatch is a digest of its kernel, its grid
and its arguments, so a plan that was put together wrongly is found before it runs. Seals are no
protection against somebody who changes a plan on purpose: a plan is as trusted as a program.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from dataclasses import replace

from .kernels import Kernel
from .records import Argument, Dispatch, Persistent, Plan

# Where in its region an argument starts is checked against the region's size.
_ARGUMENT = struct.Struct("<IIQ?I")


def sealed(plan: Plan) -> Plan:
    return replace(
        plan,
        dispatches=tuple(
            replace(item, seal=dispatch_seal(plan.kernels[item.kernel], item))
            for item in plan.dispatches
        ),
        persistent=tuple(
            replace(item, seal=persistent_seal(plan, item)) for item in plan.persistent
        ),
    )


def dispatch_seal(kernel: Kernel, dispatch: Dispatch) -> int:
    return _seal(kernel, dispatch.grid, dispatch.arguments)


def persistent_seal(plan: Plan, record: Persistent) -> int:
    """The seal of a persistent kernel, which covers the dispatches that it computes."""
    seals = (
        dispatch_seal(plan.kernels[item.kernel], item)
        for item in plan.dispatches[record.first : record.end]
    )
    numbers = (record.first, record.count, record.counters, *seals)
    return _seal(plan.kernels[record.kernel], numbers, record.arguments)


def _seal(kernel: Kernel, numbers: Sequence[int], arguments: Iterable[Argument]) -> int:
    digest = hashlib.blake2b(kernel.sha256, digest_size=8)
    own = (*kernel.group, kernel.parameters, kernel.shared_memory, *numbers)
    digest.update(struct.pack(f"<{len(own)}Q", *own))
    for item in arguments:
        digest.update(_ARGUMENT.pack(item.region, item.index, item.size, item.writes, item.texel))
    return int.from_bytes(digest.digest(), "little")
