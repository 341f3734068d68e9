"""Pooling and resizing."""

from collections.abc import Iterator

from graphs import Value, call, ints, x

from .case import ACTIVATIONS, Case
from .convolutions import SAME_OR_VALID


def pooled(*shape: int) -> Value:
    """An image in slices: only the pooling kernel for slices computes it."""
    size = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
    return call("MAX_POOL_2D", x(*shape), padding="SAME", **size)


def pools() -> Iterator[Case]:
    for operator in ("AVERAGE_POOL_2D", "L2_POOL_2D", "MAX_POOL_2D"):
        for padding in SAME_OR_VALID:
            for size, stride in (((2, 2), (2, 2)), ((3, 3), (1, 1)), ((3, 5), (2, 3))):
                attrs = {"filter_height": size[0], "filter_width": size[1], "padding": padding}
                attrs |= {"stride_h": stride[0], "stride_w": stride[1]}
                value = call(operator, x(2, 7, 11, 19), **attrs)
                yield Case(operator, f"{padding} {size} by {stride}", value)
        whole = {"filter_height": 7, "filter_width": 11, "padding": "VALID"}
        whole |= {"stride_h": 1, "stride_w": 1}
        yield Case(operator, "whole image", call(operator, x(3, 7, 11, 16), **whole))
        deep = {**whole, "filter_height": 3, "filter_width": 3, "padding": "SAME"}
        yield Case(operator, "deep values", call(operator, x(2, 5, 7, 3, draw="deep"), **deep))
        for activation in ACTIVATIONS:
            attrs = {**deep, "fused_activation_function": activation}
            yield Case(operator, f"with {activation}", call(operator, x(2, 5, 7, 3), **attrs))


def few_channels() -> Iterator[Case]:
    """Images whose rows are pooled as they lie where slices are wide."""
    for operator in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        for channels in (1, 2, 3, 4):
            for padding in SAME_OR_VALID:
                for size, stride in (((2, 2), (2, 2)), ((3, 3), (1, 1)), ((5, 9), (3, 2))):
                    attrs = {"filter_height": size[0], "filter_width": size[1], "padding": padding}
                    attrs |= {"stride_h": stride[0], "stride_w": stride[1]}
                    value = call(operator, x(2, 9, 45, channels), **attrs)
                    name = f"{channels} channels, {padding} {size} by {stride}"
                    yield Case(operator, name, value)
        square = {"filter_height": 3, "filter_width": 3, "stride_h": 1, "stride_w": 1}
        value = call(operator, x(2, 7, 37, 1, draw="NaN at times"), padding="SAME", **square)
        yield Case(operator, "one channel, fused", call("ADD", call("TANH", value), x(7, 37, 1)))
        yield Case(operator, "a narrow image", call(operator, x(3, 7, 5, 1), **square))


def resizes() -> Iterator[Case]:
    ways = {
        "plain": {"align_corners": False, "half_pixel_centers": False},
        "aligned corners": {"align_corners": True, "half_pixel_centers": False},
        "half pixels": {"align_corners": False, "half_pixel_centers": True},
    }
    sizes = ((14, 22), (13, 17), (5, 3), (1, 1), (2, 29))
    for operator in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"):
        for way, attrs in ways.items():
            for size in sizes:
                value = call(operator, x(2, 7, 11, 5), ints(*size), **attrs)
                yield Case(operator, f"{way} to {size}", value)
            one = call(operator, x(2, 1, 1, 17), ints(5, 7), **attrs)
            yield Case(operator, f"{way} from one pixel", one)
            wide = call(operator, x(1, 3, 5, 32), ints(6, 10), **attrs)
            yield Case(operator, f"{way} 32 channels", wide)
            ragged = call("TANH", call(operator, x(2, 3, 5, 37), ints(6, 7), **attrs))
            yield Case(operator, f"{way} 37 channels", call("ADD", ragged, x(1, 6, 1, 37)))
            for size in ((21, 33), (13, 37), (40, 16), (4, 19), (5, 3)):
                plane = call(operator, x(2, 7, 11, 1), ints(*size), **attrs)
                yield Case(operator, f"{way} of one channel to {size}", plane)
            plane = call("TANH", call(operator, x(2, 5, 70, 1), ints(19, 23), **attrs))
            yield Case(operator, f"{way} one channel, fused", call("ADD", plane, x(19, 23, 1)))
            pixels = call("TANH", call(operator, x(2, 7, 11, 3), ints(9, 23), **attrs))
            yield Case(operator, f"{way} three channels", call("ADD", pixels, x(9, 1, 3)))


TABLES = (pools, few_channels, resizes)
