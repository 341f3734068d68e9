"""Projects for browsers: run in Chromium, on its software driver for WebGPU."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphs import call, ints, model, parts, x
from graphs.operators import file_of, graph_of
from graphs.signatures import ROWS, SHAPE, WIDTH, Entry, cached, signed
from paths import DIGITS_MODEL

import tflgpu
from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.codegen import shared_kernels
from tflgpu.compiler.export import export
from tflgpu.compiler.ir import Op, Tensor
from tflgpu.compiler.litert.reference import Reference
from tflgpu.runtime.cache.variant import read_variant

# The outputs of a model of which a browser compiles one kernel.
SIZES = {"one": (1, 5, 7, 8), "other": (1, 9, 6, 12)}


@pytest.fixture(scope="module")
def site(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More models in the folder that a server shows."""
    cache = tmp_path_factory.mktemp("cache")
    for name, inputs in (("inverted", ("x",)), ("stereo", ("left", "right"))):
        inverted = pipeline.write(_inverted(*inputs), cache)
        export([read_variant(inverted)], site / name, name, False)
    signed = tflgpu.compile(
        cached(), cache, target="wgsl", device="webgpu", signature="all", keep={"cache": "cache"}
    )
    export([read_variant(signed)], site / "several", "several", False)
    alike = tflgpu.compile(named_alike(), cache, target="wgsl", device="webgpu", signature="all")
    export([read_variant(alike)], site / "alike", "alike", False)
    halves = parts("SPLIT", 2, ints(3), call("EXP", x(1, 4, 4, 8)), num_splits=2)
    views = model({"y": call("SUB", *halves)})
    split = tflgpu.compile(views.content, cache, target="wgsl", device="webgpu")
    export([read_variant(split)], site / "split", "split", False)
    sizes = model({name: call("SOFTMAX", x(*SIZES[name]), beta=1.0) for name in SIZES})
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(shared_kernels, "SHARED", 1.0)
        rows = tflgpu.compile(sizes.content, cache, target="wgsl", device="webgpu")
    export([read_variant(rows)], site / "rows", "rows", False)
    return site


def named_alike() -> bytes:
    """A signature whose outputs are called as its input and as what all objects have."""
    x, y, z = (Tensor(name, SHAPE) for name in ("x", "y", "z"))
    graph = graph_of(Op("EXP", (x,), (y,)), Op("NEG", (x,), (z,)))
    return signed({"step": Entry(graph, {"state": 0}, {"state": 0, "__proto__": 1})})


def _inverted(*names: str) -> Any:
    """A model that takes and returns pictures of bytes, and takes each byte from 255."""
    shape = (1, 5, 7, 3)
    ops = (Op("NEG", (Tensor(name, shape),), (Tensor(f"not_{name}", shape),)) for name in names)
    inputs = tuple((name, "rgb8") for name in names)
    outputs = tuple((f"not_{name}", "rgb8, mean=255") for name in names)
    options = Options(target="wgsl", device="webgpu", inputs=inputs, outputs=outputs)
    return pipeline.build(file_of(*ops), options)


RUN = """async (image) => {
  const model = loaded.digits ?? await start("digits");
  return plain(await model.run({image: new Float32Array(image)}));
}"""


def test_the_results_of_litert(page: Any) -> None:
    image = np.random.default_rng(7).random((1, 8, 8, 1), np.float32)
    (expected,) = Reference(DIGITS_MODEL.read_bytes()).run([image])
    for _ in range(2):
        found = page.evaluate(RUN, image.ravel().tolist())["probabilities"]
        np.testing.assert_allclose(found, expected.ravel(), rtol=1e-5, atol=1e-6)


def test_signatures_share_weights_and_state(page: Any) -> None:
    """The cache that prefill writes is what decode goes on with, until it is reset."""
    prefill, decode = (Reference(cached(), signature=key) for key in ("prefill", "decode"))
    random = np.random.default_rng(3)
    expected, steps = [], []
    cache = np.zeros((1, ROWS, WIDTH), np.float32)
    for reference, rows, start in ((prefill, 4, 1), (decode, 1, 5), (decode, 1, 2)):
        x = random.standard_normal((1, rows, WIDTH), np.float32)
        places = np.array([0, start, 0], np.int32)
        results = reference.run({"x": x, "start": places, "cache": cache})
        found = dict(zip([info.name for info in reference.outputs], results, strict=True))
        cache = found["cache"]
        expected.append(found["scores"].ravel())
        steps.append([x.ravel().tolist(), places.tolist()])
    found = page.evaluate(
        """async ([first, ...others]) => {
          const model = await start("several");
          const decode = model.signature("decode");
          const run = async (each, [x, start]) => Array.from((await each.run(
            {x: new Float32Array(x), start: new Int32Array(start)})).scores);
          const all = async () => [await run(model, first), await run(decode, others[0]),
            await run(model.signature("decode"), others[1])];
          const once = await all();
          decode.reset();
          const again = await all();
          const wrong = await message(() => model.signature("none"));
          const same = decode.signature("prefill") === model;
          decode.destroy();
          const late = await message(() => run(model, first));
          return [once, again, model.signatures, same, wrong, late];
        }""",
        steps,
    )
    for results in found[:2]:
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-5)
    assert found[2:4] == [["prefill", "decode"], True]
    assert found[4] == "ModelError: several has no signature none; it has prefill, decode"
    assert found[5].startswith("ModelError: several was destroyed")


def test_an_output_with_the_name_of_an_input(page: Any) -> None:
    values = np.random.default_rng(7).random(SHAPE, np.float32)
    state, negated, same, wrong = page.evaluate(
        """async (values) => {
          const model = await start("alike");
          const found = await model.run({state: new Float32Array(values)});
          const same = model.buffer(model.inputs[0]) === model.buffer(model.outputs[0]);
          const arrays = Object.values(found).map((array) => Array.from(array));
          return [...arrays, same, await message(() => model.buffer("state"))];
        }""",
        values.ravel().tolist(),
    )
    np.testing.assert_allclose(state, np.exp(values).ravel(), rtol=1e-5)
    np.testing.assert_allclose(negated, -values.ravel())
    assert not same
    assert wrong == (
        "ModelError: state is an input and an output of alike; give its entry of `inputs` or "
        "`outputs`"
    )


def test_a_kernel_that_reads_two_views_of_a_tensor(page: Any) -> None:
    values = np.random.default_rng(7).random((1, 4, 4, 8), np.float32)
    found = page.evaluate(
        """async (values) => {
          const model = await start("split");
          return plain(await model.run({[model.inputs[0].name]: new Float32Array(values)}));
        }""",
        values.ravel().tolist(),
    )
    expected = np.exp(values[..., :4]) - np.exp(values[..., 4:])
    np.testing.assert_allclose(found["y"], expected.ravel(), rtol=1e-5, atol=1e-6)


def test_layers_of_other_sizes_share_a_kernel(page: Any, site: Path) -> None:
    plan = json.loads((site / "rows/rows.json").read_text())
    assert len(plan["kernels"]) == 1 and len(plan["signatures"][0]["steps"]) == 2
    values = [np.random.default_rng(7).random(shape, np.float32) for shape in SIZES.values()]
    found = page.evaluate(
        """async (values) => {
          const model = await start("rows");
          return plain(await model.run(Object.fromEntries(
            model.inputs.map(({name}, at) => [name, new Float32Array(values[at])]))));
        }""",
        [each.ravel().tolist() for each in values],
    )
    for name, each in zip(SIZES, values, strict=True):
        powers = np.exp(each)
        expected = powers / powers.sum(-1, keepdims=True)
        np.testing.assert_allclose(found[name], expected.ravel(), rtol=1e-5)


def test_runs_of_two_models_on_one_device(page: Any) -> None:
    """Several in flight, without memory that grows; and after one model is destroyed."""
    found = page.evaluate(
        """async () => {
          const {device} = await start("digits");
          const other = await start("inverted", {device});
          const image = (value) => ({image: new Float32Array(64).fill(value)});
          const runs = [...Array(50).keys()].map((n) => loaded.digits.run(image(n % 2)));
          const bytes = Uint8Array.from({length: 105}, (_, n) => n);
          const {not_x: y} = await other.run({x: bytes});
          const all = (await Promise.all(runs)).map(({probabilities}) => probabilities.join());
          other.destroy();
          const last = (await loaded.digits.run(image(1))).probabilities.join();
          return [new Set(all).size, last === all[1], Array.from(y)];
        }"""
    )
    assert found == [2, True, [255 - n for n in range(105)]]


def test_pictures_stay_on_the_device(page: Any) -> None:
    found = page.evaluate(
        """async () => {
          const model = await start("inverted");
          const canvas = new OffscreenCanvas(7, 5), context = canvas.getContext("2d");
          const image = context.createImageData(7, 5);
          image.data.forEach((_, at) => { image.data[at] = at % 4 === 3 ? 255 : at; });
          context.putImageData(image, 0, 0);
          const wanted = Array.from(image.data).filter((_, at) => at % 4 !== 3).map((v) => 255 - v);
          const results = [];
          const frame = new VideoFrame(canvas, {timestamp: 0});
          for (const picture of [canvas, await createImageBitmap(canvas), frame]) {
            results.push((await model.run({x: picture})).not_x.join() === wanted.join());
          }
          frame.close();
          const wrong = await message(() => model.run({x: new OffscreenCanvas(8, 5)}));
          return [...results, wrong];
        }"""
    )
    assert found[:3] == [True, True, True]
    assert "the picture for x has 8 x 5 pixels; it must have 7 x 5" in found[3]


DECODING = """
globalThis.decoded = [];
let decoding = 0;
globalThis.together = 0;
const real = createImageBitmap;
globalThis.createImageBitmap = async (source) => {
  together = Math.max(together, ++decoding);
  await new Promise(requestAnimationFrame);
  decoding--;
  return decoded[decoded.push(await real(source)) - 1];
};
globalThis.frame = (width) => new VideoFrame(new Uint8Array(4 * width * 5),
  {format: "RGBX", codedWidth: width, codedHeight: 5, timestamp: 0});
globalThis.freed = () => decoded.every(({width}) => width === 0);
"""


def test_frames_of_several_inputs(page: Any) -> None:
    """They are decoded at once, and freed also if a run fails."""
    page.add_script_tag(content=DECODING)
    found = page.evaluate(
        """async () => {
          const model = await start("stereo");
          await model.run({left: frame(7), right: frame(7)});
          const said = await message(() => model.run({left: frame(7), right: frame(8)}));
          return [together, decoded.length, freed(), said];
        }"""
    )
    assert found[:3] == [2, 4, True]
    assert "the picture for right has 8 x 5 pixels" in found[3]


def test_a_model_that_is_destroyed_while_frames_are_decoded(page: Any) -> None:
    page.add_script_tag(content=DECODING)
    said = page.evaluate(
        """async () => {
          const {device} = await start("digits");
          const model = await start("inverted", {device});
          const run = model.run({x: frame(7)});
          model.destroy();
          return [await message(() => run), freed()];
        }"""
    )
    assert said == ["ModelError: inverted was destroyed; load it again", True]


def test_runs_begin_in_the_order_of_their_calls(page: Any) -> None:
    """Those without frames wait for the frames of others, and take what they were called with."""
    found = page.evaluate(
        """async () => {
          const model = await start("inverted"), order = [], said = [];
          const frame = (value) => new VideoFrame(
            Uint8Array.from({length: 140}, (_, n) => n % 4 < 3 ? value : 255),
            {format: "RGBX", codedWidth: 7, codedHeight: 5, timestamp: 0});
          const bytes = new Uint8Array(105).fill(2), pixels = new ImageData(7, 5);
          pixels.data.set([3, 4, 5, 6]);
          const inputs = [frame(1), bytes, pixels, new OffscreenCanvas(8, 5), frame(7)];
          const runs = inputs.map((x) => model.run({x}).then(
            ({not_x}) => order.push(not_x[0]), ({message}) => said.push(message)));
          bytes.fill(9);
          pixels.data.fill(9);
          await Promise.all(runs);
          return [order, ...said];
        }"""
    )
    assert found[0] == [254, 253, 252, 248] and len(found) == 2
    assert found[1].startswith("the picture for x cannot be read: ")


def test_runs_that_are_rejected_keep_no_memory(page: Any) -> None:
    found = page.evaluate(
        """async () => {
          const model = await start("digits");
          const image = model.device.createBuffer({size: 256, usage: GPUBufferUsage.STORAGE});
          const real = model.device.createBuffer.bind(model.device);
          let made = 0;
          model.device.createBuffer = (description) => (made++, real(description));
          const said = [];
          for (let n = 0; n < 3; n++) said.push(await message(() => model.run({image})));
          await model.run({image: new Float32Array(64)});
          return [made, said];
        }"""
    )
    assert found[0] == 1
    assert all("the browser rejects the run of digits: " in each for each in found[1])


def test_buffers_of_the_application(page: Any) -> None:
    image = [n / 64 for n in range(64)]
    expected = page.evaluate(RUN, image)["probabilities"]
    found = page.evaluate(
        """async (image) => {
          const model = loaded.digits, {device} = model;
          device.queue.writeBuffer(model.buffer("image"), 0, new Float32Array(image));
          const encoder = device.createCommandEncoder();
          model.enqueue(encoder);
          const usage = GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST;
          const staging = device.createBuffer({size: 40, usage});
          encoder.copyBufferToBuffer(model.buffer("probabilities"), 0, staging, 0, 40);
          device.queue.submit([encoder.finish()]);
          await staging.mapAsync(GPUMapMode.READ);
          return Array.from(new Float32Array(staging.getMappedRange()));
        }""",
        image,
    )
    assert found == expected


def test_in_a_worker(page: Any, site: Path) -> None:
    (site / "worker.js").write_text(
        'import {load} from "./digits/digits.js";\n'
        'const model = await load("./digits");\n'
        "const {probabilities} = await model.run({image: new Float32Array(64)});\n"
        "postMessage(Array.from(probabilities));\n"
    )
    found = page.evaluate(
        """() => new Promise((resolve, reject) => {
          const worker = new Worker("worker.js", {type: "module"});
          worker.onmessage = ({data}) => resolve(data);
          worker.onerror = ({message}) => reject(new Error(message));
        })"""
    )
    assert found == page.evaluate(RUN, [0] * 64)["probabilities"]


def test_inputs_that_are_refused(page: Any) -> None:
    found = page.evaluate(
        """async () => {
          const canvas = new OffscreenCanvas(14, 10), closed = new VideoFrame(new Uint8Array(140),
            {format: "RGBX", codedWidth: 7, codedHeight: 5, timestamp: 0});
          canvas.getContext("2d").fillRect(0, 0, 14, 10);
          const image = new Image(7, 5);
          image.src = URL.createObjectURL(await canvas.convertToBlob());
          await image.decode();
          closed.close();
          const {signatures} = await start("digits"), model = await start("inverted");
          const other = document.body.appendChild(document.createElement("iframe")).contentWindow;
          const fits = [new Uint8Array(new ArrayBuffer(105, {maxByteLength: 200})),
            new other.Uint8Array(105)];
          const bad = [null, [1, 2], new ArrayBuffer(105), closed, image,
            new OffscreenCanvas(7, 5)];
          const said = [];
          for (const x of [...fits, ...bad]) said.push(await message(() => model.run({x})));
          said.push(await message(() => model.run(new Uint8Array(105))));
          said.push(await message(() => loaded.digits.signature("none")));
          return said;
        }"""
    )
    assert found[:2] == ["no error"] * 2
    kinds = ("null", "Array of 2", "ArrayBuffer")
    wanted = [f"input x is a {kind}; it must be a Uint8Array of 105 [1,5,7,3]" for kind in kinds]
    assert found[2:5] == [f"ModelError: {each}" for each in wanted]
    assert found[5].startswith("ModelError: the picture for x cannot be read: ")
    assert "the picture for x has 14 x 10 pixels" in found[6]
    assert found[7].startswith("ModelError: the picture for x cannot be read: ")
    listed = "0, 1, 2, 3, 4, 5, 6, and 98 others"
    assert found[8] == f"ModelError: missing or unknown inputs: x, {listed}; give {{x}}"
    assert found[9] == "ModelError: digits has no signature none; it has none"


def test_a_model_that_is_gone(page: Any) -> None:
    """Whatever is called says so; runs in flight, too."""
    found = page.evaluate(
        """async () => {
          const model = await start("several"), {device} = model;
          const calls = [() => model.signature("decode"), () => model.reset(),
            () => model.enqueue(device.createCommandEncoder()), () => model.buffer("x")];
          const run = model.run({x: new Float32Array(24), start: new Int32Array(3)});
          device.destroy();
          const said = [await message(() => run)];
          for (const call of calls) said.push(await message(call));
          model.destroy();
          return [...said, await message(() => model.destroy())];
        }"""
    )
    assert all("the GPU device was lost" in each for each in found[:-1])
    assert found[-1] == "no error"


def test_equal_kernels_are_stored_once(site: Path) -> None:
    described = json.loads((site / "digits/digits.json").read_text())
    texts = [kernel["code"] for kernel in described["kernels"]]
    assert len(texts) == len(set(texts)) <= len(described["signatures"][0]["steps"])
    assert all("fn main(" in text and not text.startswith("//") for text in texts)


def test_what_browsers_cannot_run_is_refused(tmp_path: Path) -> None:
    """What runs on LiteRT, with the operators; other targets and weights in the program."""
    made = model({"y": call("TANH", x(2, 3, 5, 7))})
    with pytest.warns(tflgpu.FallbackWarning):
        folder = tflgpu.compile(
            made.content, tmp_path, target="wgsl", device="webgpu", fallback_ops=["TANH"]
        )
    variant = read_variant(folder)
    with pytest.raises(OptionError, match=r"TANH.*run on LiteRT; `tflgpu explain` says why"):
        export([variant], tmp_path / "refused", "refused", False)
    with pytest.raises(OptionError, match="one variant, and its weights in a file"):
        export([variant], tmp_path / "refused", "refused", True)
    assert not (tmp_path / "refused").exists()
