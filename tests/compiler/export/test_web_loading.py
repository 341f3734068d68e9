"""Loading a model in a browser: its address, what may fail, and what is free again then."""

from functools import partial
from typing import Any


def answer(body: bytes, route: Any) -> None:
    route.fulfill(body=body)


def test_folders(page: Any) -> None:
    """Relative to the page's base, with a query for both files; whole in workers of blobs."""
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url.partition("/digits/")[2]))
    found = page.evaluate(
        """async () => {
          const said = [await message(() => start("digits"))];
          const {load} = await import("./digits/digits.js");
          document.head.insertAdjacentHTML("beforeend", '<base href="/digits/none.html">');
          for (const folder of ["", "../digits?v=2", "http://[none"]) {
            said.push(await message(() => load(folder)));
          }
          const lines = [`import {load} from "${location.origin}/digits/digits.js";`,
            'await load("digits").catch(({message}) => postMessage(message));'];
          const blob = URL.createObjectURL(new Blob(lines, {type: "text/javascript"}));
          const worker = new Worker(blob, {type: "module"});
          const {data} = await new Promise((resolve) => { worker.onmessage = resolve; });
          said.push(data);
          return said;
        }"""
    )
    assert found[:3] == ["no error"] * 3
    assert {"digits.json?v=2", "weights.bin?v=2"} < {*requests}
    advice = "is no address of a folder here; give a whole one, with https:"
    assert found[3:] == [f"ModelError: http://[none {advice}", f"digits {advice}"]


def test_downloads_that_break_off(page: Any) -> None:
    for file in ("digits.json", "weights.bin"):
        page.route(f"**/digits/{file}", lambda route: route.abort())
        said = page.evaluate('() => message(() => start("digits"))')
        assert said.startswith("ModelError: http") and f"/{file} cannot be downloaded (" in said
        page.unroute(f"**/digits/{file}")
    broken = page.evaluate(
        """() => {
          const real = fetch;
          globalThis.fetch = async (url, options) => String(url).endsWith(".json")
            ? real(url, options) : new Response(new ReadableStream({
              start: (stream) => stream.enqueue(new Uint8Array(8)),
              pull: (stream) => stream.error(new TypeError("broken"))}));
          return message(() => start("digits"));
        }"""
    )
    assert "weights.bin cannot be downloaded (broken); load again" in broken


def test_a_load_that_fails_frees_the_memory_of_the_application(page: Any) -> None:
    """However it fails: an abort, a download, a kernel, a device that is lost or full."""
    found = page.evaluate(
        """async () => {
          const adapter = await navigator.gpu.requestAdapter();
          const device = await adapter.requestDevice(), made = [], said = [];
          const create = device.createBuffer.bind(device);
          device.createBuffer = (description) => {
            const buffer = create(description), destroy = buffer.destroy.bind(buffer);
            made.push(buffer);
            buffer.destroy = () => { buffer.freed = true; destroy(); };
            return buffer;
          };
          const attempt = async (options) => said.push(
            await message(() => start("digits", {device, ...options})));
          const abort = new AbortController();
          await attempt({signal: abort.signal, onprogress: () => abort.abort()});
          await attempt({onprogress: () => { throw new Error("of the application"); }});
          const {popErrorScope} = device;
          device.popErrorScope = async () => ({message: "full"});
          await attempt();
          let left = 1;
          device.popErrorScope = async () => (left-- ? null : {message: "full"});
          await attempt();
          device.popErrorScope = popErrorScope;
          await attempt({onprogress: () => device.destroy()});
          await attempt({device: adapter.requestDevice()});
          return [said, made.length > 4, made.every(({freed}) => freed)];
        }"""
    )
    assert found[0][0].startswith("AbortError") and found[0][1] == "Error: of the application"
    full = "ModelError: the GPU has no memory for digits (full); free that of others"
    assert found[0][2:4] == [full, full]
    assert "the GPU device was lost" in found[0][4]
    assert "`device` is no GPUDevice" in found[0][5]
    assert found[1:] == [True, True]


def test_what_goes_wrong(page: Any) -> None:
    """Each error says what it is about, and what to do."""
    weights = "**/digits/weights.bin"
    content = page.request.get(page.url.replace("empty.html", "digits/weights.bin")).body()
    bodies = (
        (content[:1000], f"ended after 1000 of {len(content)} bytes; load again"),
        (bytes(len(content)), "is damaged or of another model"),
        (bytes(len(content) + 1), "is damaged or of another model"),
    )
    for body, message in bodies:
        page.route(weights, partial(answer, body))
        assert message in page.evaluate('() => message(() => start("digits"))')
        page.unroute(weights)
    described = "**/digits/digits.json"
    content = page.request.get(page.url.replace("empty.html", "digits/digits.json")).body()
    assert b"[1,8,8,1]" in content
    altered = content.replace(b"[1,8,8,1]", b"[1,8,4,2]")
    for body in (b"<!doctype html>", altered, content[:-1], b"null", b""):
        page.route(described, partial(answer, body))
        said = page.evaluate('() => message(() => start("digits"))')
        assert "digits.json is not what was exported with digits.js; serve all files" in said
        page.unroute(described)
    page.route(weights, lambda route: route.fulfill(status=404))
    assert "weights.bin: status 404" in page.evaluate('() => message(() => start("digits"))')
    page.unroute(weights)
    aborted = page.evaluate('() => message(() => start("digits", {signal: AbortSignal.abort()}))')
    assert aborted.startswith("AbortError")
    found = page.evaluate(
        """async () => {
          const model = await start("digits");
          const bad = [{}, {image: new Float32Array(3)}, {image: new Int8Array(64)}];
          const said = [];
          for (const inputs of bad) said.push(await message(() => model.run(inputs)));
          model.device.destroy();
          await model.device.lost;
          said.push(await message(() => model.run({image: new Float32Array(64)})));
          await start("digits");
          said.push(await message(() => loaded.digits.run({image: new Float32Array(64)})));
          return said;
        }"""
    )
    assert "missing or unknown inputs: image; give {image}" in found[0]
    assert "is a Float32Array of 3; it must be a Float32Array of 64 [1,8,8,1]" in found[1]
    assert "is a Int8Array of 64; it must be" in found[2]
    assert "the GPU device was lost" in found[3] and "load digits again" in found[3]
    assert found[4] == "no error"


def test_a_device_without_what_it_takes(page: Any) -> None:
    missing = page.evaluate(
        """async () => {
          const {parse} = JSON;
          JSON.parse = (text) => {
            const plan = parse(text);
            plan.needs.features.push("shader-f16-of-tomorrow");
            plan.needs.limits.maxBufferSize = 2 ** 50;
            plan.needs.iterations += 65536;
            return plan;
          };
          Object.defineProperty(GPUAdapter.prototype, "info", {
            get: () => ({vendor: "mesa", architecture: "software"})});
          return message(() => start("digits"));
        }"""
    )
    assert "the feature shader-f16-of-tomorrow is missing; maxBufferSize is" in missing
    assert "loops end after 65535 iterations, but may take 65" in missing
    assert "compile the model for the profile webgpu" in missing


def test_a_browser_without_a_gpu_says_so(page: Any) -> None:
    said = page.evaluate(
        """() => {
          navigator.gpu.requestAdapter = async () => null;
          return message(() => start("digits"));
        }"""
    )
    assert said == "ModelError: WebGPU finds no GPU; update its driver, or the browser"
