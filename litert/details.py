"""LiteRT's dictionaries about tensors and operators."""

from typing import Any

import numpy as np

from ..compiler.ir import Array, Shape
from .file import FileOperator, FileSubgraph, FileTensor

# The type of LiteRT's arrays by the type in the file; those of others are left out of lists.
TYPES: dict[str, type[np.generic]] = {
    **{
        name: np.dtype(name).type
        for name in (
            *("float16", "float32", "float64", "complex64", "bool"),
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        )
    },
    "int2": np.int8,
    "int4": np.int8,
    "uint4": np.uint8,
    "string": np.bytes_,
    "resource": np.object_,
    "variant": np.object_,
}


def tensor_details(
    tensor: FileTensor, index: int, shape: Shape, block_scales: Array | None, rows: int
) -> dict[str, Any]:
    """LiteRT's dictionary about a tensor, which has this shape now.

    `block_scales` are the scales of blockwise quantization, None for others. A single scale is
    repeated for each of `rows`.
    """
    scales, zero_points = tensor.scales, tensor.zero_points
    single = len(scales) == 1 and len(zero_points) == 1
    return {
        "name": tensor.name,
        "index": index,
        "shape": np.array(shape, np.int32),
        "shape_signature": np.array(tensor.shape_signature or shape, np.int32),
        "dtype": TYPES[tensor.dtype],
        "quantization": (scales[0], zero_points[0]) if single else (0.0, 0),
        "quantization_parameters": {
            "scales": (
                np.array(scales * rows if single else scales, np.float32)
                if block_scales is None
                else block_scales
            ),
            "zero_points": np.array(zero_points, np.int32),
            "quantized_dimension": tensor.quantized_dimension,
            "block_size": 0 if tensor.blocks is None else tensor.blocks[2],
        },
        "sparsity_parameters": dict(tensor.sparsity),
    }


def operator_details(operator: FileOperator, index: int, subgraph: FileSubgraph) -> dict[str, Any]:
    return {
        "index": index,
        "op_name": operator.name,
        "inputs": np.array(operator.inputs, np.int32),
        "outputs": np.array(operator.outputs, np.int32),
        "operand_types": [TYPES[subgraph.tensors[i].dtype] for i in operator.inputs if i >= 0],
        "result_types": [TYPES[subgraph.tensors[i].dtype] for i in operator.outputs if i >= 0],
    }
