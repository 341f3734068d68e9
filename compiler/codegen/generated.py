"""What is generated: the launches of a plan in the order of execution, and their kernels."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ...runtime.plan.kernels import Kernel
from ..ir import Op, Tensor
from .rendering.render import RenderedLaunch


def computed(op: Op) -> str:
    """The operators a kernel computes, such as "CONV_2D + RELU6"."""
    return " + ".join(inner.name for inner in op.ops)


@dataclass(frozen=True)
class GeneratedLaunch:
    """A rendered launch with its operator and kernel."""

    op: Op
    reads: str  # The storage in which the kernel reads tensors.
    packed: Collection[Tensor]  # Constants that it reads in slices whatever that is.
    rendered: RenderedLaunch
    # What the indices in each tensor of indices must stay below.
    limits: Mapping[Tensor, Sequence[int]]
    kernel: int = -1  # The number of its kernel, once kernels have one.
    # What the kernel reads after the arguments of `rendered`, if it computes several sizes.
    sizes: tuple[int, ...] = ()

    @property
    def title(self) -> str:
        """The model's operators that it computes, as "3 CONV_2D + 4 RELU6"; else its own name."""
        return " + ".join(map(str, self.op.origins)) or computed(self.op)


@dataclass(frozen=True)
class Kernels:
    """The launches of a plan in the order of execution, and their kernels."""

    launches: tuple[GeneratedLaunch, ...]
    records: tuple[Kernel, ...]  # The kernels as the plan lists them.
    sources: Mapping[str, str]
    comments: Mapping[str, str]  # The comment at the top of each, by file.
    # The parts that run on LiteRT, with the number of launches before each.
    host_steps: Mapping[Op, int]
