"""Models of elementwise operators one after the other, as files."""

from pathlib import Path

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Tensor


def elementwise(path: Path, *steps: str, inputs: int = 1) -> Path:
    """A model that applies operators one after the other; all inputs feed the first."""
    graph = Graph("steps")
    graph.inputs = [Tensor(f"x{number}", (1, 3, 5, 7)) for number in range(inputs)]
    graph.input_names = [tensor.name for tensor in graph.inputs]
    operands = tuple(graph.inputs)
    for index, name in enumerate(steps):
        output = Tensor(f"y{index}", (1, 3, 5, 7))
        attrs = {"fused_activation_function": "NONE"} if name == "ADD" else {}
        graph.add(Op(name, operands, (output,), attrs, index=index))
        operands = (output,)
    graph.outputs, graph.output_names = list(operands), [operands[0].name]
    path.write_bytes(write(graph))
    return path
