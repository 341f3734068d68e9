"""Hand-written plans of one kernel, and what opens them."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path

from tflgpu.runtime import Session, load
from tflgpu.runtime.plan.records import Argument, Dispatch, PlacedTensor, Region, TensorInfo
from tflgpu.runtime.plan.storage import byte_size, whole_words

from .chain import Parts, chain, kernel


def single(
    source: str,
    inputs: Sequence[TensorInfo],
    output: TensorInfo,
    grid: int = 1,
    tensors: Sequence[PlacedTensor] = (),
) -> Parts:
    """One kernel called `main_kernel`, which takes all inputs and the output, over `grid` items."""
    target = "glsl" if source.startswith("#version") else "opencl"
    file = "kernels/000_main.comp" if target == "glsl" else "kernels/000_main.cl"
    arguments = [
        Argument(Region.INPUT, index, 0, whole_words(byte_size(info)), False)
        for index, info in enumerate(inputs)
    ]
    arguments.append(Argument(Region.OUTPUT, 0, 0, whole_words(byte_size(output)), True))
    launch = Dispatch(0, (grid, 1, 1), tuple(arguments), "main", (0,), 0)
    parts = chain(target=target).replacing(
        inputs=tuple(inputs),
        outputs=(output,),
        arena_size=0,
        weights_size=0,
        weights_sha256=hashlib.sha256(b"").digest(),
        kernels=(kernel("main_kernel", file, source),),
        dispatches=(launch,),
        tensors=tuple(tensors),
    )
    return replace(parts, sources={file: source}, weights=b"")


def copy_source(ctype: str) -> str:
    """The text of a kernel for `single` that copies its input."""
    return f"""
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void main_kernel(__global const {ctype}* restrict x, __global {ctype}* restrict y) {{
    y[get_global_id(0)] = x[get_global_id(0)];
}}
"""


def copy(info: TensorInfo, ctype: str = "float") -> Parts:
    """A model whose output `y` is its only input."""
    return single(copy_source(ctype), [info], replace(info, name="y"), max(prod(info.shape), 1))


Opener = Callable[[Parts], AbstractContextManager[Session]]


def opener(cache: Path, device: str) -> Opener:
    """What loads parts on a device: `with opened(parts) as session`."""

    @contextmanager
    def opened(parts: Parts) -> Iterator[Session]:
        with load(parts.write(cache), device=device) as session:
            session.poison()
            yield session

    return opened
