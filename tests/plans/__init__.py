"""Hand-written plans with tiny kernels, for tests of the runtime without the compiler."""

from .chain import (
    ADD,
    LENGTH,
    SIZE,
    Parts,
    argument,
    chain,
    chain_result,
    check,
    kernel,
    pair,
    shader,
)
from .single import Opener, copy, copy_source, opener, single
from .variations import broken, complete, misaligned

__all__ = [
    "ADD",
    "LENGTH",
    "SIZE",
    "Opener",
    "Parts",
    "argument",
    "broken",
    "chain",
    "chain_result",
    "check",
    "complete",
    "copy",
    "copy_source",
    "kernel",
    "misaligned",
    "opener",
    "pair",
    "shader",
    "single",
]
