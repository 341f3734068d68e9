"""Sparse constants, as LiteRT reads them."""

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from graphs.altered import altered, buffer_of, tensor
from graphs.operators import graph_of

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Op, Tensor, constant


def sparse(model: Any, block: bool) -> None:
    """Makes the constant of a DENSIFY sparse: CSR, or CSR over blocks of two columns."""
    levels = [schema.DimensionMetadataT() for _ in range(3 if block else 2)]
    levels[0].denseSize = 3
    levels[1].format = schema.DimensionType.SPARSE_CSR
    levels[1].arraySegmentsType = levels[1].arrayIndicesType = schema.SparseIndexVector.Uint8Vector
    levels[1].arraySegments, levels[1].arrayIndices = schema.Uint8VectorT(), schema.Uint8VectorT()
    levels[1].arraySegments.values = [0, 1, 1, 3]
    levels[1].arrayIndices.values = [1, 0, 2]
    parameters = schema.SparsityParametersT()
    parameters.dimMetadata = levels
    parameters.traversalOrder = [0, 1, 2] if block else [0, 1]
    parameters.blockMap = [1] if block else []
    if block:
        levels[2].denseSize = 2
    constant = tensor(model, "c")
    constant.shape = [3, 6]
    constant.sparsity = parameters
    values = np.arange(1, 7 if block else 4, dtype=np.float32)
    buffer_of(model, "c").data = np.frombuffer(values.tobytes(), np.uint8)


@pytest.mark.parametrize(
    "block, expected",
    [
        (False, [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0], [2, 0, 3, 0, 0, 0]]),
        (True, [[0, 0, 1, 2, 0, 0], [0, 0, 0, 0, 0, 0], [3, 4, 0, 0, 5, 6]]),
    ],
)
def test_sparse_constants_are_made_dense(block: bool, expected: list[list[float]]) -> None:
    ones = constant("c", np.ones((3, 6), np.float32))
    graph = graph_of(Op("DENSIFY", (ones,), (Tensor("y", (3, 6)),)))
    model = altered(lambda m: sparse(m, block), graph)
    np.testing.assert_array_equal(read(model).ops[0].constant(0), expected)
    litert = Interpreter(
        model_content=model,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    litert.allocate_tensors()
    litert.invoke()
    np.testing.assert_array_equal(litert.get_tensor(1), expected)

    def beyond(m: Any) -> None:
        sparse(m, block)
        tensor(m, "c").sparsity.dimMetadata[1].arrayIndices.values = [1, 0, 7]

    with pytest.raises(ModelError, match="tensor 0 c: the indices of a sparse level"):
        read(altered(beyond, graph))
