"""Outputs that are kept on the device as the inputs that they update.

    c', y = f(x, c)   with c' kept as c
becomes   y = f(x, c)   where c is a variable, whose content is c' at the end of the run

A run takes no c: it reads what the run before has left, and zeros at first.
"""

from ..errors import OptionError
from ..ir import Graph, Tensor
from ..ops.litert_part import LITERT
from ..state_names import Pairs, state_names
from .decompose.decomposition import assign


def keep_state(graph: Graph, pairs: Pairs) -> None:
    """Keep the outputs of pairs that `state_names` finds (OptionError if one cannot be kept)."""
    (found,) = state_names(pairs, [(graph.input_names, graph.output_names)])
    for output, name in found:
        position = graph.input_names.index(name)
        variable = graph.inputs.pop(position)
        del graph.input_names[position]
        touched = [variable]
        if output:
            position = graph.output_names.index(output)
            value = graph.outputs.pop(position)
            del graph.output_names[position]
            _check_alike(output, value, name, variable)
            touched.append(value)
            assign(graph, variable, value)
        for tensor in touched:
            near = [graph.producer(tensor), *graph.consumers(tensor)]
            if any(op is not None and op.name == LITERT for op in near):
                raise OptionError(
                    f"keep: {name} is used by operators that run on LiteRT, which cannot keep it; "
                    f"`tflgpu explain` says why they do"
                )
        variable.name, variable.variable = name, True
        graph.state.append(variable)


def _check_alike(output: str, value: Tensor, name: str, variable: Tensor) -> None:
    forms = [(t.dtype, list(t.shape), t.quantization) for t in (value, variable)]
    if forms[0] != forms[1]:
        (dtype, shape, _), (wanted, sizes, _) = forms
        raise OptionError(
            f"keep: the output {output}, {dtype} of shape {shape}, cannot be kept as the input "
            f"{name}, {wanted} of shape {sizes}: type, shape and quantization must be the same"
        )
