"""The devices and the browser in which exported models run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import WEBGPU, chromium
from devices import opencl_devices, unavailable
from exporting import Found, exported
from paths import DIGITS_MODEL
from servers import http_server

import tflgpu
from tflgpu.compiler import Options, pipeline
from tflgpu.compiler.export import export
from tflgpu.runtime.cache.variant import read_variant

# Flags for a camera that Chromium makes up.
CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
CALLS = """
globalThis.loaded = {};
globalThis.start = async (name, options = {}) => {
  const {load} = await import(`./${name}/${name}.js`);
  return loaded[name] = await load(`./${name}`, options);
};
globalThis.message = async (work) => {
  try { await work(); } catch (error) { return `${error.name}: ${error.message}`; }
  return "no error";
};
globalThis.plain = (results) => Object.fromEntries(
  Object.entries(results).map(([name, array]) => [name, Array.from(array)]));
"""


@pytest.fixture(scope="session")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The first device of the system's drivers; those from PyPI are known to Python only."""
    if not opencl_devices():
        unavailable("no OpenCL device is present")
    content = DIGITS_MODEL.read_bytes()
    compiled = pipeline.build(content, Options(target="opencl", device="gpu", fallback="none"))
    demo = exported(compiled, tmp_path_factory.mktemp("digits"))
    infos = {str(info): info for info in tflgpu.devices()}
    for device in opencl_devices():
        platform = infos[device].platform
        if not demo.run("--device", platform, content=bytes(8 * 8 * 4)).returncode:
            return Found(device, platform)
    unavailable("a program finds no OpenCL driver of the system")


@pytest.fixture(scope="session")
def gles() -> Found:
    """The best OpenGL device."""
    return best("glsl")


@pytest.fixture(scope="session")
def webgpu() -> Found:
    """The best WebGPU device."""
    return best("wgsl")


def best(target: str) -> Found:
    """The best device that runs the kernels of a target."""
    for info in tflgpu.devices():
        if info.target == target:
            return Found(str(info), info.name)
    unavailable(f"no device that runs {target} is present")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium(*WEBGPU, *CAMERA) as opened:
        yield opened


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that a server shows, with a page of nothing and the digits."""
    folder, cache = (tmp_path_factory.mktemp(name) for name in ("site", "cache"))
    (folder / "empty.html").write_text("<!doctype html><title>empty</title>")
    digits = tflgpu.compile(DIGITS_MODEL, cache, target="wgsl", device="webgpu")
    export([read_variant(digits)], folder / "digits", "digits", False)
    return folder


@pytest.fixture
def address(site: Path) -> Iterator[str]:
    with http_server(site) as url:
        yield url


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    opened = browser.new_page()
    opened.set_default_timeout(120_000)
    opened.goto(f"{address}/empty.html")
    opened.add_script_tag(content=CALLS)
    yield opened
    opened.close()
