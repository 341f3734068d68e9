"""What the reader makes of a .tflite file."""

import csv
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter
from flatbuffers import flexbuffers
from graphs.altered import altered, buffer_of, chain, tensor
from graphs.operators import file_of

from tflgpu.compiler.errors import ModelError
from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Graph, Op, Quantization, Signature, Tensor, constant
from tflgpu.compiler.litert.reference import Reference


def test_the_text_of_a_small_model() -> None:
    assert str(read(write(chain()))) == (
        "y = CONV_2D(x, weights, none) padding=SAME stride_w=1 stride_h=1 "
        "fused_activation_function=NONE dilation_w_factor=1 dilation_h_factor=2 "
        "quantized_bias_type=float32\n"
        "z = SOFTMAX(y) beta=0.5"
    )


def test_every_real_model_has_the_operators_its_table_says(models: Path) -> None:
    unread = []
    for table in ("networks", "ops"):
        with open(models / f"{table}.tsv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                try:
                    graph = read(models / table / row["path"])
                except ModelError:
                    assert row["runs in LiteRT"] != "yes", row["path"]
                    unread.append(row["path"])
                    continue
                items = row["op names with counts"].split()
                listed = [item.rpartition("=") for item in items if "=" in item]
                counts = {name.removeprefix("CUSTOM:"): int(count) for name, _, count in listed}
                found = Counter(op.name for g in (graph, *graph.subgraphs.values()) for op in g)
                assert found.keys() <= counts.keys(), row["path"]
                if row["subgraphs"] == "1":
                    assert found == counts, row["path"]
    assert len(unread) <= 2


def test_inputs_and_outputs_are_those_litert_shows(models: Path) -> None:
    for path in sorted(models.glob("networks/**/*.tflite")):
        try:
            litert = Interpreter(model_path=str(path))
        except ValueError:
            continue  # custom operators
        graph = read(path)
        for ours, theirs in (
            (graph.inputs, litert.get_input_details()),
            (graph.outputs, litert.get_output_details()),
        ):
            names = [t["name"] or f"tensor_{t['index']}" for t in theirs]
            assert [t.name for t in ours] == names, path
            assert [t.shape for t in ours] == [tuple(t["shape"]) for t in theirs], path
            kinds = [np.dtype(t["dtype"]).name.replace("bytes", "string") for t in theirs]
            assert [t.dtype for t in ours] == kinds, path


def test_constants_are_views_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "chain.tflite"
    path.write_bytes(write(chain()))
    graph = read(path)
    weights = graph.ops[0].constant(1)
    np.testing.assert_array_equal(weights, chain().ops[0].constant(1))
    graph.release()
    np.testing.assert_array_equal(weights, chain().ops[0].constant(1))
    assert not weights.flags.owndata and not weights.flags.writeable


def test_the_callers_values_take_the_place_of_an_inputs_content() -> None:
    graph = Graph("model")
    given = constant("given", np.array([3, 4], np.float32))
    graph.add(Op("NEG", (given,), (Tensor("y", (2,)),)))
    graph.inputs, graph.input_names = [given], ["given"]
    graph.outputs, graph.output_names = [graph.ops[0].output], ["y"]
    content = write(graph)
    assert read(content).inputs[0].data is None
    # LiteRT does the same.
    (negated,) = Reference(content).run({"given": np.array([7, -8], np.float32)})
    np.testing.assert_array_equal(negated, np.array([-7, 8], np.float32))


def test_int8_variables_begin_with_their_zero_point() -> None:
    graph = Graph("model")
    kind = Quantization((0.5,), (-3,), 0)
    state = Tensor("state", (2,), "int8", quantization=kind, variable=True)
    x, y = (Tensor(name, (2,), "int8", quantization=kind) for name in ("x", "y"))
    graph.add(Op("ADD", (x, state), (y,)))
    graph.inputs, graph.input_names = [x], ["x"]
    graph.outputs, graph.output_names = [y], ["y"]
    content = write(graph)
    found = read(content)
    (begin,) = found.contents.values()
    np.testing.assert_array_equal(begin, np.array([-3, -3], np.int8))
    (result,) = Reference(content).run({"x": np.array([7, -3], np.int8)})
    np.testing.assert_array_equal(result, np.array([7, -3], np.int8))


def test_both_operator_codes_count() -> None:
    def name(old: int, new: int) -> str:
        def change(model: Any) -> None:
            model.operatorCodes[1].deprecatedBuiltinCode = old
            model.operatorCodes[1].builtinCode = new
            operator = model.subgraphs[0].operators[1]
            operator.builtinOptionsType, operator.builtinOptions = 0, None

        return read(altered(change)).ops[1].name

    assert name(25, 0) == "SOFTMAX"
    assert name(0, 6) == "DEQUANTIZE"
    assert name(127, 150) == "GELU"
    assert name(127, 300) == "BUILTIN_300"


def test_names_are_made_unique_and_stay() -> None:
    def change(model: Any) -> None:
        tensor(model, "y").name = None
        tensor(model, "weights").name = b"x"
        tensor(model, "z").name = b"x_1\xff"

    (softmax,) = (op for op in read(altered(change)) if op.name == "SOFTMAX")
    graph = read(altered(change))
    assert [t.name for t in graph.ops[0].reads] == ["x", "x_1"]
    assert softmax.output.name == "x_1\N{REPLACEMENT CHARACTER}"
    assert softmax.operand(0).name == "tensor_2"


def test_signatures_name_inputs_and_outputs() -> None:
    def change(model: Any) -> None:
        signature = schema.SignatureDefT()
        signature.signatureKey = b"serving_default"
        for field, name, index in (("inputs", b"image", 0), ("outputs", b"label", 3)):
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = name, index
            setattr(signature, field, [entry])
        model.signatureDefs = [signature]

    model = altered(change)
    expected = Signature("serving_default", {"image": "x"}, {"label": "z"}, 0)
    assert read(model).signatures == [expected]
    graph = read(model, {"image": (1, 5, 7, 3)}, signature="serving_default")
    assert (graph.input_names, graph.output_names) == (["image"], ["label"])
    with pytest.raises(
        ModelError, match="it has no signature train; its signatures are serving_default"
    ):
        read(model, signature="train")


def test_input_shapes_replace_those_of_the_file() -> None:
    model = write(chain())
    graph = read(model, {"x": (2, 11, 13, 3)})
    assert graph.inputs[0].shape == (2, 11, 13, 3)
    assert graph.ops[0].output.shape == (1, 5, 7, 11)
    with pytest.raises(ModelError, match="no input image; its inputs are x"):
        read(model, {"image": (1, 5, 7, 3)})
    with pytest.raises(ModelError, match="the input has 4 dimensions"):
        read(model, {"x": (5, 7, 3)})
    with pytest.raises(ModelError, match=r"cannot have the shape \[0, 5, 7, 3\]"):
        read(model, {"x": (0, 5, 7, 3)})


def test_an_open_input_shape_names_the_flag_to_pass() -> None:
    model = altered(lambda m: setattr(tensor(m, "x"), "shape", [-1, 5, 7, 3]))
    with pytest.raises(ModelError, match="give --input-shape x=N,5,7,3"):
        read(model)
    assert read(model, {"x": (3, 5, 7, 3)}).inputs[0].shape == (3, 5, 7, 3)


def test_a_buffer_may_lie_behind_the_flatbuffer() -> None:
    weights = chain().ops[0].constant(1).tobytes()

    def model(offset: int) -> bytes:
        def change(model: Any) -> None:
            buffer = buffer_of(model, "weights")
            buffer.data, buffer.offset, buffer.size = None, offset, len(weights)

        return altered(change)

    end = len(model(2))
    graph = read(model(end) + weights)
    np.testing.assert_array_equal(graph.ops[0].constant(1), chain().ops[0].constant(1))
    with pytest.raises(
        ModelError, match=r"tensor 1 weights: it refers to bytes \d+ to \d+, but the file has"
    ):
        read(model(end) + weights[:-1])


def custom(name: str, raw: bytes, operands: int = 1, results: int = 1) -> dict[str, Any]:
    """The attributes of a custom operator with the given options."""
    known = [constant(f"c{i}", np.ones(3, np.float32)) for i in range(operands)]
    outputs = [Tensor(f"y{i}", (3,)) for i in range(results)]
    (again,) = read(file_of(Op(name, known, outputs, {"custom_options": raw}))).ops
    assert again.name == name
    attrs = dict(again.attrs)
    assert attrs.pop("custom_options") == raw
    return attrs


def test_options_of_custom_operators() -> None:
    entries = {"max_detections": 10, "y_scale": 10.0, "use_regular_nms": False, "sizes": [3, 5, 7]}
    raw = bytes(flexbuffers.Dumps(entries))
    assert custom("TFLite_Detection_PostProcess", raw, 3, 4) == {**entries, "sizes": (3, 5, 7)}
    assert custom("Flexible", bytes(flexbuffers.Dumps([1, 2]))) == {}
    assert custom("Opaque", b"\xff" * 37) == {}
    layer = struct.pack("<3i", 1, 2, 3)
    expected = {"padding": "SAME", "stride_w": 2, "stride_h": 3}
    assert custom("Convolution2DTransposeBias", layer, 3) == expected


def test_a_custom_operator_cannot_pass_for_a_builtin_one() -> None:
    for taken in ("ADD", "tflgpu.convert", "BUILTIN_3"):
        assert custom(f"CUSTOM:{taken}", b"\x05") == {}


def test_mediapipe_transpose_convolution(models: Path) -> None:
    graph = read(models / "networks/mediapipe_segm/selfie_segmenter.tflite")
    layers = [op for op in graph if op.name == "Convolution2DTransposeBias"]
    assert layers
    for op in layers:
        assert (op.attrs["padding"], op.attrs["stride_w"], op.attrs["stride_h"]) == ("SAME", 2, 2)


def test_quantization_is_checked_and_read() -> None:
    def change(model: Any) -> None:
        parameters = schema.QuantizationParametersT()
        parameters.scale, parameters.zeroPoint = [0.5] * 11, [0]
        parameters.quantizedDimension = 3
        tensor(model, "y").quantization = parameters

    y = read(altered(change)).ops[0].output
    assert y.quantization == Quantization((0.5,) * 11, (0,) * 11, 3)

    def outside(model: Any) -> None:
        change(model)
        tensor(model, "y").quantization.quantizedDimension = 4

    with pytest.raises(
        ModelError, match="tensor 2 y: it is quantized along axis 4, but has 4 axes"
    ):
        read(altered(outside))
