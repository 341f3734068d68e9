"""Whether a device has what a plan needs."""

from collections.abc import Iterator

from ..plan.running import Limits


def unmet_limits(needs: Limits, has: Limits) -> Iterator[str]:
    """The limits that a device does not meet, with both numbers."""
    if needs.alignment % has.alignment:
        yield (
            f"its arguments start at multiples of {needs.alignment} bytes, but this device needs "
            f"multiples of {has.alignment}"
        )
    for text, needed, limit in _numbers(needs, has):
        if needed > limit:
            yield f"{text % needed}, but the limit of this device is {limit}"
    for extension in needs.extensions:
        if extension not in has.extensions:
            yield f"it needs {extension}, which this device lacks"


def _numbers(needs: Limits, has: Limits) -> Iterator[tuple[str, int, int]]:
    """A text with a place for the number that is needed, that number, and the device's."""
    yield "it has work-groups of %d work-items", needs.group, has.group
    for axis, needed, limit in zip("xyz", needs.group_sizes, has.group_sizes, strict=True):
        yield f"it has work-groups of %d work-items along {axis}", needed, limit
    for axis, needed, limit in zip("xyz", needs.group_counts, has.group_counts, strict=True):
        yield f"it launches %d work-groups along {axis}", needed, limit
    yield "its work-groups share %d bytes of memory", needs.local_memory, has.local_memory
    yield "it has kernels with %d buffers", needs.arguments, has.arguments
    yield "it has buffers of %d bytes", needs.buffer_size, has.buffer_size
    yield "it passes %d bytes of a buffer to a kernel", needs.argument_size, has.argument_size
    yield "it reads images of %d texels", needs.image_texels, has.image_texels
    if has.iterations:
        yield "its loops may take %d iterations", needs.iterations, has.iterations
