"""`Interpreter` of `tflgpu.litert`: what its methods take, return and refuse, beside LiteRT's."""

import gc
import logging
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import interpreter as litert
from devices import opencl_devices, unavailable
from graphs import call, known, model, typed, w, x
from graphs.custom import SHAPE, swirled
from graphs.hosted import searching
from graphs.interfaces import EXPRESSIONS, batches
from graphs.operators import file_of
from graphs.signatures import ROWS, WIDTH, Entry, cached, noted, signed, two_signatures
from paths import DIGITS_MODEL
from platforms import linux

from tflgpu.compiler.frontend.reader import read
from tflgpu.compiler.ir import Array, Tensor
from tflgpu.litert import Interpreter, OpResolverType, load_delegate

REGRESSION = model(EXPRESSIONS["regression"]).content


@pytest.fixture
def make(tmp_path: Path) -> Any:
    """Makes an interpreter on the first device, with a cache of its own."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")

    def made(content: bytes = REGRESSION, **options: Any) -> Interpreter:
        return Interpreter(
            model_content=content, device=opencl_devices()[0], cache=tmp_path / "cache", **options
        )

    return made


def given(interpreter: Any) -> int:
    index: int = interpreter.get_input_details()[0]["index"]
    return index


def result(interpreter: Any) -> Array:
    value: Array = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    return value


def same(left: Any, right: Any) -> bool:
    """Whether two values have the same types and content all the way down."""
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and bool(np.array_equal(left, right))
    if isinstance(left, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


DETAILS = {
    "digits": DIGITS_MODEL.read_bytes(),
    "batches": batches(),
    "signatures": two_signatures(),
    **{
        name: model(EXPRESSIONS[name]).content
        for name in ("int8", "uint8", "keyword", "words", "branches", "postprocess")
    },
}


@pytest.mark.parametrize("name", DETAILS)
def test_details_are_those_of_litert(name: str, make: Any) -> None:
    """Before and after allocation; LiteRT's list goes on with its own temporary tensors."""
    ours, theirs = make(DETAILS[name]), litert.Interpreter(model_content=DETAILS[name])
    for _ in range(2):
        assert same(ours.get_input_details(), theirs.get_input_details())
        assert same(ours.get_output_details(), theirs.get_output_details())
        listed = ours.get_tensor_details()
        assert same(listed, theirs.get_tensor_details()[: len(listed)])
        ours.allocate_tensors()
        theirs.allocate_tensors()
    operators = ours._get_ops_details()
    assert same(operators, theirs._get_ops_details()[: len(operators)])
    assert same(ours._get_full_signature_list(), theirs._get_full_signature_list())


def test_sizes_of_other_tensors_follow_a_resized_input(make: Any) -> None:
    interpreter = make(batches())
    for rows in (7, 9):
        interpreter.resize_tensor_input(given(interpreter), [rows, 5])
        before = [tuple(item["shape"]) for item in interpreter.get_tensor_details()]
        interpreter.allocate_tensors()
        after = [tuple(item["shape"]) for item in interpreter.get_tensor_details()]
        assert (rows, 3) not in before and after.count((rows, 3)) == 2


def test_an_input_that_is_resized_has_no_memory(make: Any) -> None:
    content = batches()
    for each in (make(content), litert.Interpreter(model_content=content)):
        each.allocate_tensors()
        each.resize_tensor_input(given(each), [7, 5])
        assert list(each.get_input_details()[0]["shape"]) == [7, 5]
        with pytest.raises(ValueError, match="Tensor is unallocated"):
            each.set_tensor(given(each), np.zeros((7, 5), np.float32))
        with pytest.raises(ValueError, match="Tensor data is null"):
            each.get_tensor(given(each))


def test_sizes_that_are_compiled_at_once(make: Any, tmp_path: Path) -> None:
    """Resizing to them compiles nothing, and they are on the device together."""
    content = batches()
    (name,) = read(content).input_names
    sizes = [(2, 5), (7, 5)]
    interpreter = make(content, input_shapes=[{name: size} for size in sizes])
    for size in (*sizes, (2, 5), (3, 5)):
        values = np.random.default_rng(size[0]).standard_normal(size, np.float32)
        theirs = litert.Interpreter(model_content=content)
        for each in (interpreter, theirs):
            each.resize_tensor_input(given(each), size)
            each.allocate_tensors()
            each.set_tensor(given(each), values)
            each.invoke()
        np.testing.assert_allclose(result(interpreter), result(theirs), rtol=1e-5, atol=1e-5)
        assert len(list(tmp_path.glob("cache/*/*/"))) == 1 + (size == (3, 5))


def test_a_model_is_compiled_once(
    make: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line on the log says so; another interpreter finds it in the cache."""
    caplog.set_level(logging.INFO)
    for _ in range(2):
        make().allocate_tensors()
    (line,) = [record.getMessage() for record in caplog.records]
    (folder,) = tmp_path.glob("cache/*/*/")
    assert line.startswith("compiled model in ") and line.endswith(f"s into {folder}")


def test_a_damaged_cache_is_compiled_again(make: Any, tmp_path: Path) -> None:
    make().allocate_tensors()
    (plan,) = tmp_path.glob("cache/*/*/plan.tflgpu")
    plan.write_bytes(b"nothing")
    interpreter = make()
    interpreter.allocate_tensors()
    interpreter.invoke()
    assert plan.stat().st_size > 100


def test_the_last_shapes_stay_loaded(make: Any) -> None:
    interpreter = make(batches())
    variants = interpreter._main._variants
    for rows in (1, 2, 3, 4, 5, 2, 6, 1):
        interpreter.resize_tensor_input(given(interpreter), [rows, 5])
        interpreter.allocate_tensors()
        interpreter.invoke()
    assert [dict(key) for key in variants._loaded] == [
        {f"class/in{0}": (rows, 5)} for rows in (4, 5, 2, 6)
    ]


def signature_runs(interpreter: Any, calls: list[tuple[str, dict[str, Array]]]) -> list[Array]:
    """The outputs of several signatures, run in turn."""
    return [
        value
        for key, arrays in calls
        for value in interpreter.get_signature_runner(key)(**arrays).values()
    ]


def test_signatures_share_their_weights(make: Any, tmp_path: Path) -> None:
    """They are compiled and loaded together; resizing one keeps the others as they are."""
    random = np.random.default_rng(1)
    calls = []
    for key, rows in (("prefill", 4), ("decode", 1), ("prefill", 4), ("decode", 1)):
        arrays: dict[str, Array] = {
            "x": random.standard_normal((1, rows, WIDTH), np.float32),
            "start": np.array([0, 2, 0], np.int32),
            "cache": random.standard_normal((1, ROWS, WIDTH), np.float32),
        }
        calls.append((key, arrays))
    ours, theirs = make(cached()), litert.Interpreter(model_content=cached())
    pairs = zip(signature_runs(ours, calls), signature_runs(theirs, calls), strict=True)
    for left, right in pairs:
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)
    (folder,) = tmp_path.glob("cache/*/*/")
    assert len(list(folder.glob("choices/*"))) == 1
    sessions = [ours._model.subgraph(index)._session for index in (0, 1)]
    assert sessions[0]._model is sessions[1]._model
    arrays = {**calls[0][1], "x": calls[0][1]["x"][:, :3]}
    calls = [("prefill", arrays), calls[1]]
    pairs = zip(signature_runs(ours, calls), signature_runs(theirs, calls), strict=True)
    for left, right in pairs:
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)
    assert ours._model.subgraph(1)._session is sessions[1]


def test_signatures_share_their_variables(make: Any) -> None:
    values = np.random.default_rng(2).standard_normal((3, 1, 5, 7, 3), np.float32)
    keys = ("note", "recall", "note", "recall")
    calls = [(key, {"x": x}) for key, x in zip(keys, [*values, values[0]], strict=True)]
    ours, theirs = make(noted()), litert.Interpreter(model_content=noted())
    pairs = zip(signature_runs(ours, calls), signature_runs(theirs, calls), strict=True)
    for left, right in pairs:
        np.testing.assert_allclose(left, right, rtol=1e-5, atol=1e-5)


def test_a_signature_that_cannot_run_hinders_no_other(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without LiteRT, each is then compiled by itself."""
    absolute = read(model({"y": call("ABS", x(2, 3))}).content)
    entries = {"runs": Entry(absolute, {"x": 0}, {"y": 0})}
    entries["searches"] = Entry(read(searching()), {"x": 0}, {"y": 0})
    content = signed(entries)
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    interpreter = make(content)
    runner = interpreter.get_signature_runner("runs")
    (info,) = runner.get_input_details().values()
    value = np.full(info["shape"], -2, np.float32)
    np.testing.assert_array_equal(runner(x=value)["y"], -value)
    searches = interpreter.get_signature_runner("searches")
    (info,) = searches.get_input_details().values()
    with pytest.raises(RuntimeError, match="1 TOPK_V2: input 1"):
        searches(x=np.zeros(info["shape"], info["dtype"]))


def test_operators_on_litert_are_named_on_the_log(
    make: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    make(searching()).allocate_tensors()
    assert "; 3 of its operators run on LiteRT" in caplog.text


def test_without_litert_nothing_runs_there(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    interpreter = make(searching())
    assert interpreter.get_output_details()
    with pytest.raises(RuntimeError, match=r"operator \d TOPK_V2"):
        interpreter.allocate_tensors()


def test_delegates_are_accepted_with_a_warning(make: Any) -> None:
    with pytest.warns(UserWarning, match=r"does not load the delegate libedgetpu\.so\.1"):
        delegate = load_delegate("libedgetpu.so.1", {"device": "usb"})
    with pytest.warns(UserWarning, match="does not use delegates"):
        make(experimental_delegates=[delegate]).allocate_tensors()


def test_all_tensors_are_preserved(make: Any) -> None:
    """Every tensor has what LiteRT's own kernels compute."""
    kind = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    options = {"experimental_preserve_all_tensors": True}
    content = DIGITS_MODEL.read_bytes()
    ours = make(content, experimental_op_resolver_type=kind, **options)
    theirs = litert.Interpreter(
        model_content=content,
        experimental_op_resolver_type=litert.OpResolverType[kind.name],
        **options,
    )
    image = np.random.default_rng(3).random((1, 8, 8, 1), np.float32)
    for interpreter in (ours, theirs):
        interpreter.allocate_tensors()
        interpreter.set_tensor(given(interpreter), image)
        interpreter.invoke()
    for item in ours.get_tensor_details():
        index = item["index"]
        np.testing.assert_allclose(
            ours.get_tensor(index), theirs.get_tensor(index), rtol=1e-4, atol=1e-4
        )


def test_intermediate_tensors_are_not_there_otherwise(make: Any) -> None:
    interpreter = make()
    interpreter.allocate_tensors()
    interpreter.invoke()
    outputs = [index for item in interpreter._get_ops_details() for index in item["outputs"]]
    with pytest.raises(ValueError, match="Tensor data is null"):
        interpreter.get_tensor(outputs[0])


def test_a_copy_and_a_view(make: Any) -> None:
    interpreter = make()
    interpreter.allocate_tensors()
    index = given(interpreter)
    interpreter.get_tensor(index)[:] = 9
    assert interpreter.get_tensor(index) == 0
    interpreter.tensor(index)()[:] = 9
    assert interpreter.get_tensor(index) == 9
    view = interpreter.tensor(index)()[0]
    with pytest.raises(RuntimeError, match="reference to internal data"):
        interpreter.invoke()
    del view
    interpreter.invoke()
    first = result(interpreter)
    interpreter.set_tensor(index, [[np.float32(-9)]])
    interpreter.invoke()
    assert first != result(interpreter)


def test_an_input_that_is_an_output(make: Any) -> None:
    value = x(2, 3)
    content = model({"twice": [call("ADD", value, known(np.float32(1))), value]}).content
    interpreter = make(content)
    interpreter.allocate_tensors()
    for number in (1.0, 2.0):
        interpreter.set_tensor(given(interpreter), np.full((2, 3), number, np.float32))
        interpreter.invoke()
        values = [interpreter.get_tensor(i["index"]) for i in interpreter.get_output_details()]
        assert [array.ravel()[0] for array in values] == [number + 1, number]


def test_integers_of_64_bits(make: Any) -> None:
    chosen = typed("int64", "ARG_MAX", w(1, 9), known(np.int32(1)), output_type="int64")
    total = typed("int64", "ADD", chosen, typed("int64", "CAST", x(1)))
    interpreter = make(model({"total": total}).content)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given(interpreter), np.array([5], np.float32))
    interpreter.invoke()
    assert result(interpreter).dtype == np.int64


def test_own_operators(make: Any) -> None:
    functions = {"Swirl": lambda size, nothing, added: (size + added, size)}
    interpreter = make(swirled(), custom_ops=functions)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given(interpreter), np.zeros(SHAPE, np.float32))
    interpreter.invoke()
    np.testing.assert_allclose(result(interpreter)[0, 0, 0], np.exp([1, 2, 3]), rtol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ((), {}),
        (("nowhere.tflite",), {}),
        ((), {"model_content": b"TFL3 and nothing else"}),
        (("model.tflite", b"content"), {}),
        (("model.tflite",), {"num_threads": 0}),
        (("model.tflite",), {"num_threads": "two"}),
        (("model.tflite",), {"experimental_op_resolver_type": 7}),
    ],
)
def test_what_cannot_be_opened(arguments: Any, options: Any) -> None:
    for kind in (Interpreter, litert.Interpreter):
        with pytest.raises(ValueError):
            kind(*arguments, **options)


def test_what_can_go_wrong_with_shapes(make: Any) -> None:
    interpreter = make(batches())
    index = given(interpreter)
    for shape, strict in (([3, 6], True), ([3], True), ([-1, 5], False)):
        with pytest.raises(RuntimeError):
            interpreter.resize_tensor_input(index, shape, strict)
    with pytest.raises(RuntimeError):
        interpreter.resize_tensor_input(99, [1])
    interpreter.resize_tensor_input(index, [3, 6])
    with pytest.raises(RuntimeError, match="FULLY_CONNECTED"):
        interpreter.allocate_tensors()
    with pytest.raises(RuntimeError, match="not ready"):
        interpreter.invoke()


def test_subgraphs_that_are_not_there(make: Any) -> None:
    interpreter = make(two_signatures())
    assert interpreter.num_subgraphs() == 2
    assert len(interpreter.get_tensor_details(1)) == 4
    with pytest.raises(ValueError, match="out of range: 2"):
        interpreter.get_tensor_details(2)


def test_strings_that_are_handed_on(make: Any) -> None:
    """No operator of the device or of LiteRT is there to copy them."""
    text = Tensor("text", (3,), "string")
    with pytest.raises(RuntimeError, match=r"output text is text itself.* can hold string"):
        make(file_of(inputs=[text], outputs=[text])).allocate_tensors()


@linux
@pytest.mark.parametrize("replaced", [False, True])
def test_the_file_may_go(tmp_path: Path, replaced: bool) -> None:
    """The model is the one that was opened, as for LiteRT, whatever lies at the path later."""
    path, other = tmp_path / "model.tflite", tmp_path / "other.tflite"
    path.write_bytes(REGRESSION)
    both = [
        Interpreter(path, device="auto", cache=tmp_path / "cache"),
        litert.Interpreter(str(path)),
    ]
    if replaced:
        other.write_bytes(DETAILS["digits"])
        other.rename(path)
    else:
        path.unlink()
    results = []
    for interpreter in both:
        interpreter.allocate_tensors()
        shape = interpreter.get_input_details()[0]["shape"]
        interpreter.set_tensor(given(interpreter), np.full(shape, 0.5, np.float32))
        interpreter.invoke()
        results.append(result(interpreter))
    ours, theirs = results
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


@linux
def test_a_dropped_interpreter_keeps_nothing_open(tmp_path: Path) -> None:
    """Without the garbage collector's help."""
    path = tmp_path / "model.tflite"
    path.write_bytes(REGRESSION)
    gc.disable()
    try:
        interpreter = Interpreter(path, cache=tmp_path / "cache")
        interpreter.get_tensor_details()
        assert str(path) in Path("/proc/self/maps").read_text()
        del interpreter
        assert str(path) not in Path("/proc/self/maps").read_text()
    finally:
        gc.enable()
