"""Composite operators that PyTorch's converter names, with the subgraphs it spells them by."""

from collections.abc import Iterator

from flatbuffers import flexbuffers
from graphs import Body, Call, Input, Value, call, ints, number, reshape, transpose, typed
from graphs import x as tensor
from graphs import xi as integers

from tflgpu.compiler.ir import Shape

from .attention import attention
from .case import Case

COMPOSITE = "STABLEHLO_COMPOSITE"


def composites() -> Iterator[Case]:
    for name, shape, body in (
        ("rms_norm", (2, 5, 19), rms_norm(2, 5, 19)),
        ("rms_norm", (2, 3, 5, 16), rms_norm(2, 3, 5, 16)),
        ("layer_norm", (2, 5, 19), layer_norm(2, 5, 19)),
        ("group_norm", (2, 6, 5, 7), group_norm(2, 6, 5, 7)),
        ("scaled_dot_product_attention", (1, 7, 3, 8), heads_last(1, 7, 3, 8)),
        ("runtime_bmm", (1, 3, 5, 11), product()),
        ("update_kv_cache", (1, 11, 2, 5), cache(1, 11, 2, 5)),
    ):
        yield Case(COMPOSITE, f"{name} {shape}", composite(name, shape, body))


def composite(name: str, shape: Shape, body: Body) -> Value:
    """The composite odml.`name` whose result has that shape, of the inputs of its subgraph."""
    attrs = {
        "name": f"odml.{name}",
        "decomposition_subgraph_index": body,
        "composite_attributes": bytes(flexbuffers.Dumps({"epsilon": 1e-6})),
        "composite_attributes_format": "FLEXBUFFERS",
    }
    operands = tuple(Input(each.shape, each.draw, each.dtype) for each in body.operands)
    return Call(COMPOSITE, operands, attrs, shapes=(shape,))


def rms_norm(*shape: int) -> Body:
    """The mean of squares without its axis, which a reshape brings back."""
    x, gain = tensor(*shape), tensor(shape[-1])
    squares = call("MEAN", call("MUL", x, x), ints(len(shape) - 1), keep_dims=False)
    powers = reshape(call("ADD", squares, number(1e-6)), *shape[:-1], 1)
    return Body((x, gain), call("MUL", call("MUL", x, call("RSQRT", powers)), gain))


def layer_norm(*shape: int) -> Body:
    x, gain, offset = tensor(*shape), tensor(shape[-1]), tensor(shape[-1])
    normal = normalized(x, len(shape) - 1)
    return Body((x, gain, offset), call("ADD", call("MUL", normal, gain), offset))


def group_norm(*shape: int) -> Body:
    """Of images with channels first, in three groups of them."""
    x, gain, offset = tensor(*shape), tensor(shape[1], 1, 1), tensor(shape[1], 1, 1)
    groups = reshape(x, shape[0], 3, shape[1] // 3, *shape[2:])
    normal = reshape(normalized(groups, 2, 3, 4), *shape)
    return Body((x, gain, offset), call("ADD", call("MUL", normal, gain), offset))


def normalized(x: Value, *axes: int) -> Value:
    """Values minus their mean, divided by their deviation."""
    mean = call("MEAN", x, ints(*axes), keep_dims=True)
    variance = call("MEAN", call("SQUARED_DIFFERENCE", x, mean), ints(*axes), keep_dims=True)
    root = call("RSQRT", call("ADD", variance, number(1e-5)))
    return call("MUL", call("SUB", x, mean), root)


def heads_last(*shape: int) -> Body:
    """Attention of heads behind the rows, with a mask."""
    q, k, v = (tensor(*shape) for _ in range(3))
    mask = tensor(shape[0], 1, shape[1], shape[1])
    rows = [transpose(each, 0, 2, 1, 3) for each in (q, k, v)]
    return Body((q, k, v, mask), transpose(attention(*rows, mask), 0, 2, 1, 3))


def product() -> Body:
    a, b = tensor(1, 3, 5, 7), tensor(1, 3, 11, 7)
    return Body((a, b), call("BATCH_MATMUL", a, b, adj_x=False, adj_y=True))


def cache(*shape: int) -> Body:
    """Three rows of keys at a computed place."""
    kept, place = tensor(*shape), integers(1, draw="counts")
    rows = tensor(shape[0], 3, *shape[2:])
    starts = typed("int32", "CONCATENATION", ints(0), place, ints(0, 0), axis=0)
    return Body((kept, rows, place), call("DYNAMIC_UPDATE_SLICE", kept, rows, starts))


TABLES = (composites,)
