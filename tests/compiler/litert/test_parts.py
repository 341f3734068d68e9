"""The models that parts are written as have the constants of the model, whatever their types."""

import numpy as np
import pytest
from graphs.operators import graph_of

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import FusedOp, Op, Tensor, constant
from tflgpu.compiler.litert.parts import part_file


@pytest.mark.parametrize("dtype", ["int4", "int2", "uint4", "bfloat16", "string", "float16"])
def test_constants_of_a_part_keep_type_and_values(dtype: str) -> None:
    held = {"bfloat16": "float32", "string": "object", "float16": "float16", "uint4": "uint8"}
    values = np.array([1, 0, 1, 1, 0], held.get(dtype, "int8"))
    if dtype == "string":
        values[:] = [b"a", b"", b"bc", b"\0", b"d"]
    table, x, y = constant("table", values), Tensor("x", (1,), "int32"), Tensor("y", (1,), dtype)
    table.dtype = dtype
    inner = Op("GATHER", (table, x), (y,), {"axis": 0}, 0)
    part = FusedOp("tflgpu.litert", (inner,), (), (y,))
    found = read(part_file(graph_of(part), part))
    (kept,) = (tensor for tensor in found.tensors if tensor.data is not None)
    assert kept.dtype == dtype and kept.data is not None
    assert kept.data.tolist() == values.tolist()
