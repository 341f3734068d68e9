"""Exported models with several signatures, which share weights and state."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exporting import CHECKED, Found, build, exported, run
from graphs.signatures import ROWS, WIDTH, cached
from wgpu_native import wgpu_native

import tflgpu
from tflgpu.compiler import CompiledModel, OptionError, Options, pipeline
from tflgpu.compiler.export import BACKENDS, export
from tflgpu.compiler.ir import Array
from tflgpu.runtime.cache.variant import read_variant

pytestmark = pytest.mark.slow

CALLER = Path(__file__).parent / "callers" / "signatures.c"
FIXTURES = {"opencl": "found", "gles": "gles", "webgpu": "webgpu"}
# Options of AddressSanitizer: Vulkan's drivers keep memory until the end of the process.
SANITIZER = {"webgpu": "detect_leaks=0"}
KEEP = (("cache", "cache"),)
# Signatures, rows, and where in the cache they are written.
STEPS = [("prefill", 4, 1), ("decode", 1, 5), ("decode", 1, 2), ("reset", 0, 0), ("decode", 1, 3)]


def compiled(
    backend: str, signature: tuple[str, ...] = ("all",), device: str = "gpu", **options: Any
) -> CompiledModel:
    """The model with its cache as state."""
    target = BACKENDS[backend]
    chosen = Options(
        target=target,
        device="webgpu" if target == "wgsl" else device,
        signature=signature,
        keep=KEEP,
        fallback="none",
        **options,
    )
    return pipeline.build(cached(), chosen)


def step(rows: int, start: int) -> dict[str, Array]:
    values = np.random.default_rng(start).standard_normal((1, rows, WIDTH), np.float32)
    return {"x": values, "start": np.array([0, start, 0], np.int32)}


# As the program is, so that PoCL does not compile again, which leaks memory of LLVM.
@pytest.mark.optimized
@pytest.mark.parametrize("backend", FIXTURES)
def test_they_share_weights_and_state(
    request: pytest.FixtureRequest, tmp_path: Path, backend: str
) -> None:
    """Bit for bit what Python computes, whichever is opened first, from compiled kernels, too."""
    found: Found = request.getfixturevalue(FIXTURES[backend])
    for signature in (("prefill", "decode"), ("decode", "prefill")):
        folder = tmp_path / signature[0]
        demo = exported(compiled(backend, signature), folder, backend=backend)
        inputs, outputs = b"", b""
        with tflgpu.load(demo.variant, device=found.device, store_binaries=False) as session:
            for key, rows, start in STEPS:
                if key == "reset":
                    session.reset()
                    continue
                arrays = step(rows, start)
                inputs += b"".join(array.tobytes() for array in arrays.values())
                results = session.run(arrays, signature=key)
                outputs += b"".join(array.tobytes() for array in results.values())
        runtime = ("net_model.c", "tflgpu.c", f"tflgpu_{backend}.c")
        libraries = wgpu_native(folder) if backend == "webgpu" else ()
        build(demo.folder, "caller", *CHECKED, "-I.", str(CALLER), *runtime, *libraries)
        (demo.folder / "in.bin").write_bytes(inputs)
        for _ in range(2):
            words = ["./caller", found.name, "in.bin", "out.bin", str(folder / "kernels")]
            words += [key for key, _, _ in STEPS]
            sanitizer = SANITIZER.get(backend, "use_sigaltstack=0")
            called = run(demo.folder, *words, sanitizer=sanitizer)
            assert (called.returncode, called.stderr) == (0, ""), called.stderr
            assert demo.outputs == outputs


def test_the_demo_runs_one(found: Found, tmp_path: Path) -> None:
    demo = exported(compiled("opencl"), tmp_path)
    arrays = step(1, 3)
    given = b"".join(array.tobytes() for array in arrays.values())
    ran = demo.run("--device", found.name, "--signature", "decode", content=given)
    assert (ran.returncode, ran.stderr) == (0, "")
    with tflgpu.load(demo.variant, device=found.device) as session:
        assert demo.outputs == session.run(arrays, signature="decode")["scores"].tobytes()
    refused = demo.run("--signature", "none", content=given)
    assert refused.returncode == 1 and "--signature is none that" in refused.stderr
    readme = (demo.folder / "README.md").read_text()
    assert "### decode" in readme and "`tflgpu_signature`" in readme


def test_weights_are_there_once(tmp_path: Path) -> None:
    folders = [
        exported(compiled("opencl", signature), tmp_path / signature[0]).folder
        for signature in (("decode",), ("all",))
    ]
    one, both = ((folder / "weights.bin").read_bytes() for folder in folders)
    assert one == both


def test_variants_for_several_devices(found: Found, tmp_path: Path) -> None:
    """Each variant has all signatures; they must be the same."""
    stored = [
        pipeline.write(compiled("opencl", device=device), tmp_path / "cache")
        for device in ("mali", "gpu")
    ]
    variants = [read_variant(folder) for folder in stored]
    export(variants, tmp_path / "project", "net", False)
    assert "s1_variants" in (tmp_path / "project" / "net_model.c").read_text()
    alone = pipeline.write(compiled("opencl", ("decode",), device="adreno"), tmp_path / "cache")
    with pytest.raises(OptionError, match="differ in their inputs, outputs or variables"):
        export([variants[0], read_variant(alone)], tmp_path / "other", "net", False)


def test_input_shapes_are_chosen(tmp_path: Path) -> None:
    shapes = tuple(("decode/x", (1, rows, WIDTH)) for rows in (1, 2))
    stored = pipeline.write(compiled("opencl", input_shapes=shapes), tmp_path / "cache")
    with pytest.raises(OptionError, match=r"several input shapes[\s\S]*decode: x \[1, 2, 6\]"):
        export([read_variant(stored)], tmp_path / "project", "net", False)


def test_a_project_for_browsers(tmp_path: Path) -> None:
    """Equal kernels of the signatures stand there once."""
    stored = pipeline.write(compiled("web"), tmp_path / "cache")
    export([read_variant(stored)], tmp_path / "project", "net", False, backend="web")
    described = json.loads((tmp_path / "project" / "net.json").read_text())
    first, second = described["signatures"]
    assert (first["name"], second["name"]) == ("prefill", "decode")
    assert [each["name"] for each in (*first["variables"], *second["variables"])] == ["cache"] * 2
    assert first["variables"][0]["reach"] >= 4 * ROWS * WIDTH
    texts = [kernel["code"] for kernel in described["kernels"]]
    assert len(set(texts)) == len(texts)
    used = {kernel for each in (first, second) for kernel, _, _ in each["steps"]}
    assert used == set(range(len(texts)))
