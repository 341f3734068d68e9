"""Errors for sizes of inputs that do not fit the constants of a model."""

import re
from typing import Any

import pytest
from graphs import Value, call, known, model, reshape, w, x
from graphs.altered import altered
from graphs.draws import drawn

from tflgpu.compiler import ModelError, Options, pipeline


def positions(value: Value, *shape: int) -> Value:
    """A table that is added to rows, as embeddings of positions are."""
    return call("ADD", value, known(drawn("table", shape, "normal")))


def error_of(value: Value, *shape: int) -> str:
    """What compiling says if the only input has another shape."""
    made = model({"y": value})
    (name,) = made.inputs
    options = Options(device="cpu", input_shapes=((name, shape),))
    with pytest.raises(ModelError) as caught:
        pipeline.build(made.content, options)
    return str(caught.value)


def test_the_error_lists_the_tables_that_fix_a_size() -> None:
    rows = positions(reshape(x(1, 19, 5), 19, 5), 19, 5)
    said = error_of(reshape(rows, 1, 19, 5), 1, 11, 5)
    assert said.startswith("operator 1 ADD: it has a table of [19, 5] for the size 19, ")
    assert "fix the size 19 of input y/in0: operator 1 ADD has a table of [19, 5]; " in said
    assert said.endswith("; convert the model with the sizes you need, or with dynamic ones")


def test_only_some_of_many_are_listed() -> None:
    rows: Value = x(1, 19, 5)
    for _ in range(7):
        rows = positions(rows, 1, 19, 5)
    assert re.search(
        r"(operator \d ADD has a table of \[1, 19, 5\], ){3}and 4 more;", error_of(rows, 1, 11, 5)
    )


def test_without_such_constants_the_error_says_that_sizes_differ() -> None:
    layer = call("FULLY_CONNECTED", x(3, 7), w(5, 7), None, keep_num_dims=True)
    assert "[3, 9]" in error_of(layer, 3, 9) and "other sizes in the file" in error_of(layer, 3, 9)


def test_sizes_that_are_open_may_be_the_cause() -> None:
    window = {"padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": 3}
    pool = call("MAX_POOL_2D", x(1, 5, 5, 3), filter_width=3, **window)

    def leave_open(content: Any) -> None:
        for tensor in content.subgraphs[0].tensors:
            tensor.shape, tensor.shapeSignature = [1, 1, 1, 3], [1, -1, -1, 3]

    content = altered(leave_open, model({"y": pool}).graph)
    with pytest.raises(ModelError) as caught:
        pipeline.build(content, Options(device="cpu"))
    assert str(caught.value) == (
        "operator 0 MAX_POOL_2D: a 3x3 window does not fit an image of 1x1. The model leaves sizes "
        "open, which may be the cause; --input-shape y/in0=1,N,N,3 chooses them"
    )
    shapes = (("y/in0", (1, 5, 7, 3)),)
    assert pipeline.build(content, Options(device="cpu", input_shapes=shapes)).plan.outputs
