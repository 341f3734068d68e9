"""The comment at the top of a kernel's file: what it computes, its parameters and its uses."""

from collections.abc import Callable, Iterator, Sequence

from ..ir.short_names import short_names, with_short_names
from ..language.wrapping import comment, in_comment
from ..memory.lifetimes import touched
from ..sizing.sizes import SizedOp
from .generated import GeneratedLaunch, computed
from .kernel_source import KernelSource
from .rendering.render import RenderedLaunch
from .wgsl.kernel import SIZES

# Launches that the comment at the top of a kernel lists, its own last line among them.
MOST_USES = 4


def names_in_comments(order: Sequence[SizedOp]) -> Callable[[str], str]:
    """Gives the name of a tensor as comments show it; long names are shortened."""
    tensors = (
        tensor
        for sized in order
        for launch in sized.launches
        for tensor in (*touched(sized, launch), *launch.packed.values())
    )
    short = short_names({tensor.name: None for tensor in tensors})
    return lambda name: in_comment(with_short_names(name, short))


def described(name: str, users: list[GeneratedLaunch], shown: Callable[[str], str]) -> str:
    """The comment for a kernel with that name, which these launches use."""
    alike: dict[KernelSource, list[GeneratedLaunch]] = {}
    for item in users:
        alike.setdefault(item.rendered.source, []).append(item)
    lines = [f"{name}: {computed(users[0].op)}"]
    for source, (first, *more) in alike.items():
        grid, group = (" x ".join(map(str, size)) for size in (first.rendered.grid, source.group))
        lines += [
            *first.rendered.described,
            *([f"{SIZES}: {', '.join(map(str, first.sizes))}"] if first.sizes else []),
            *(["multiplies and adds in half precision"] if source.half else []),
            f"grid {grid} in groups of {group}",
            *_uses((first, *more), shown),
        ]
    return comment(lines)


def _uses(launches: Sequence[GeneratedLaunch], shown: Callable[[str], str]) -> Iterator[str]:
    """The operators and tensors of launches; of many, only of the first ones."""
    listed = launches if len(launches) <= MOST_USES else launches[: MOST_USES - 1]
    for item in listed:
        yield f"{_operators(item)}: {_tensors(item.rendered, shown)}"
    if len(listed) < len(launches):
        yield f"and {len(launches) - len(listed)} more launches"


def _operators(launch: GeneratedLaunch) -> str:
    several = len(launch.op.origins or launch.op.ops) > 1
    return f"operator{'s' if several else ''} {launch.title}"


def _tensors(rendered: RenderedLaunch, shown: Callable[[str], str]) -> str:
    """The tensor of the model bound to each parameter."""
    bound = zip(rendered.source.parameters, rendered.tensors, strict=True)
    return ", ".join(
        f"{array.name} = {shown(tensor.name)}" for array, each in bound for tensor in each
    )
