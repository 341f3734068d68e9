"""Products of matrices: fully connected layers and batches."""

from collections.abc import Iterator
from typing import Any

from graphs import Value, call, number, w, x

from tflgpu.compiler.ir import Shape

from .case import ACTIVATIONS, Case
from .pools import pooled


def fully_connected_layers() -> Iterator[Case]:
    def row(situation: str, image: Shape, weights: Shape, bias: bool = True, **attrs: Any) -> Case:
        operands = (x(*image), w(*weights), w(weights[0]) if bias else None)
        return Case("FULLY_CONNECTED", situation, call("FULLY_CONNECTED", *operands, **attrs))

    yield row("one row", (1, 37), (41, 37))
    yield row("one long row", (1, 131), (37, 131))
    yield row("one row of whole slices", (1, 72), (37, 72))
    yield row("many rows", (29, 37), (41, 37))
    yield row("few rows", (5, 64), (37, 64))
    yield row("multiples of the slice", (5, 32), (64, 32))
    yield row("to one", (3, 19), (1, 19))
    yield row("from one", (3, 1), (19, 1))
    yield row("without bias", (3, 7), (5, 7), False)
    yield row("rank 4 input", (3, 2, 5, 7), (11, 70))
    yield row("rank 4 input cut into rows", (3, 2, 5, 7), (11, 7))
    yield row("rank 4 input cut across channels", (2, 3, 5, 6), (11, 2))
    yield row("rank 3 kept", (2, 5, 7), (11, 7), keep_num_dims=True)
    yield row("rank 4 kept", (2, 3, 5, 7), (11, 7), keep_num_dims=True)
    yield row("rank 5 kept", (2, 3, 2, 5, 7), (11, 7), keep_num_dims=True)
    yield row("rank 1", (35,), (11, 7))
    for activation in ACTIVATIONS:
        layer = (f"with {activation}", (3, 7), (19, 7), True)
        yield row(*layer, fused_activation_function=activation)


def matrices() -> Iterator[Case]:
    for turned_first in (False, True):
        for turned_second in (False, True):
            first = (7, 5) if turned_first else (5, 7)
            second = (11, 7) if turned_second else (7, 11)
            attrs = {"adj_x": turned_first, "adj_y": turned_second}
            for batch, other in (
                ((), ()),
                ((3,), (3,)),
                ((2, 3), (3,)),
                ((2, 1), (1, 3)),
                ((1,), (3,)),
            ):
                situation = f"{(*batch, *first)} {(*other, *second)}"
                operands: tuple[Value, ...] = x(*batch, *first), x(*other, *second)
                yield Case("BATCH_MATMUL", situation, call("BATCH_MATMUL", *operands, **attrs))
            for batch, other in (((3,), ()), ((2, 3), ()), ((2, 3), (3,))):
                operands = x(*batch, *first), w(*other, *second)
                value = call("BATCH_MATMUL", *operands, **attrs)
                situation = f"{(*batch, *first)} constant {(*other, *second)}"
                yield Case("BATCH_MATMUL", situation, value)
                operands = w(*other, *first), x(*batch, *second)
                value = call("BATCH_MATMUL", *operands, **attrs)
                situation = f"constant {(*other, *first)} {(*batch, *second)}"
                yield Case("BATCH_MATMUL", situation, value)
    wide = (False, False), (True, False), (False, True)
    for turned_first, turned_second in wide:
        pair = (
            x(3, *((37, 19) if turned_first else (19, 37))),
            x(1, *((43, 37) if turned_second else (37, 43))),
        )
        value = call("BATCH_MATMUL", *pair, adj_x=turned_first, adj_y=turned_second)
        situation = f"wide, turned {turned_first} {turned_second}, fused"
        yield Case("BATCH_MATMUL", situation, call("ADD", value, x(43)))
    deep = call("BATCH_MATMUL", x(2, 1, 3, 5, 7), x(1, 3, 7, 5), adj_x=False, adj_y=False)
    yield Case("BATCH_MATMUL", "rank 5", deep)
    few = call("BATCH_MATMUL", x(3, 2, 37), x(3, 37, 203), adj_x=False, adj_y=False)
    yield Case("BATCH_MATMUL", "few long rows", few)
    for rows in (1, 2, 3, 5, 16):
        product = call("BATCH_MATMUL", x(2, rows, 150), x(2, 37, 150), adj_x=False, adj_y=True)
        yield Case("BATCH_MATMUL", f"{rows} long rows by long rows", product)
    for columns in (3, 5, 11):
        product = call("BATCH_MATMUL", x(3, 29, 7), x(3, 7, columns), adj_x=False, adj_y=False)
        for factor in (number(0.35), x(columns), x(29, columns)):
            situation = f"{columns} columns, fused with {list(factor.shape)}"
            yield Case("BATCH_MATMUL", situation, call("MUL", product, factor))
    images = pooled(2, 3, 29, 37), pooled(1, 3, 37, 91)
    sliced = call("BATCH_MATMUL", *images, adj_x=False, adj_y=False)
    yield Case("BATCH_MATMUL", "in slices", call("ADD", sliced, pooled(2, 3, 29, 91)))
    weights = call("ABS", w(11, 7))
    computed = call("MUL", x(11, 7), weights)
    for bias in (None, w(11), x(11)):
        value = call("FULLY_CONNECTED", x(3, 7), computed, bias)
        yield Case("FULLY_CONNECTED", f"computed weights {type(bias).__name__}", value)
    activated = call(
        "FULLY_CONNECTED",
        x(2, 3, 7),
        computed,
        w(11),
        keep_num_dims=True,
        fused_activation_function="RELU6",
    )
    yield Case("FULLY_CONNECTED", "computed weights, rank 3", activated)


TABLES = (fully_connected_layers, matrices)
