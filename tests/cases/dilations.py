"""Values between the elements of a tensor."""

from collections.abc import Iterator

from graphs import call, ints, number, typed, x, xi

from .case import Case


def dilated() -> Iterator[Case]:
    for shape, steps in (((5, 7), (2, 3)), ((2, 3, 5, 7), (1, 2, 1, 4)), ((7,), (1,))):
        value = call("DILATE", x(*shape), ints(*steps), number(-2.5))
        yield Case("DILATE", f"{shape} by {steps}", value)
    value = typed("int32", "DILATE", xi(3, 5), ints(3, 2), number(7, "int32"))
    yield Case("DILATE", "of integers", value)


def paddings() -> Iterator[Case]:
    for situation, low, high, interior in (
        ("around", (1, 0, 2), (0, 3, 1), (0, 0, 0)),
        ("between", (0, 0, 0), (0, 0, 0), (2, 0, 1)),
        ("everywhere, and cropped", (2, -1, 0), (-3, 1, -2), (1, 2, 0)),
    ):
        attrs = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": interior}
        value = call("STABLEHLO_PAD", x(5, 3, 7), number(2.5), **attrs)
        yield Case("STABLEHLO_PAD", situation, value)


TABLES = (dilated, paddings)
