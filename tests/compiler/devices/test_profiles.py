"""Device profiles: which one a device gets and why, and the profiles users write."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from commands import invoke
from devices import fake
from paths import DIGITS_MODEL, PROFILES

from tflgpu.compiler import OptionError, Options, pipeline
from tflgpu.compiler.devices import Profile, attached, profile, profiles
from tflgpu.compiler.devices.attached import choose_profile, match
from tflgpu.runtime.launch.device import DeviceInfo

CPU = (PROFILES / "cpu.toml").read_text(encoding="utf-8")


def device(**said: Any) -> DeviceInfo:
    """A device of which only some things are known."""
    known = fake("some platform", "OpenCL 3.0", "gpu")
    limits = replace(known.limits, extensions=said.pop("extensions", ()))
    return replace(known, limits=limits, **said)


@pytest.mark.parametrize(
    ("said", "name", "because"),
    [
        ({"type": "cpu", "vector_width": 4}, "cpu", "target opencl, type cpu"),
        ({"type": "cpu", "vector_width": 8}, "cpu_avx2", "target opencl, type cpu, lanes 8"),
        ({"type": "cpu", "vector_width": 16}, "cpu_avx512", "target opencl, type cpu, lanes 16"),
        (
            {"type": "cpu", "vector_width": 16, "instructions": ("avx512_vnni",)},
            "cpu_avx512_bytes",
            "target opencl, type cpu, lanes 16, instructions avx512_vnni or avx512bw",
        ),
        (
            {"type": "cpu", "vector_width": 16, "instructions": ("avx2", "avx512bw")},
            "cpu_avx512_bytes",
            "target opencl, type cpu, lanes 16, instructions avx512_vnni or avx512bw",
        ),
        (
            {"type": "cpu", "vector_width": 8, "instructions": ("avx2",)},
            "cpu_avx2_bytes",
            "target opencl, type cpu, lanes 8, instructions avx_vnni or avx2",
        ),
        (
            {"type": "cpu", "vector_width": 4, "instructions": ("asimddp",)},
            "cpu_arm_bytes",
            "target opencl, type cpu, lanes 4, instructions i8mm or asimddp",
        ),
        ({"vendor": "NVIDIA Corporation"}, "nvidia", "type gpu, vendor nvidia"),
        (
            {"extensions": ("cl_khr_fp16", "cl_nv_device_attribute_query")},
            "nvidia",
            "type gpu, extension cl_nv_device_attribute_query",
        ),
        ({"vendor": "Advanced Micro Devices, Inc."}, "amd", None),
        (
            {"vendor": "Intel(R) Corporation", "extensions": ("cl_intel_subgroups",)},
            "intel_gpu",
            "target opencl, type gpu, vendor intel, extension cl_intel_subgroups",
        ),
        (
            {
                "vendor": "Intel(R) Corporation",
                "platform": "Intel(R) OpenCL Graphics",
                "extensions": (
                    "cl_intel_subgroups",
                    "cl_intel_subgroup_matrix_multiply_accumulate",
                ),
            },
            "intel_xe",
            None,
        ),
        ({"vendor": "Intel(R) Corporation"}, "gpu", None),
        ({"target": "glsl", "vendor": "Intel"}, "intel_gpu", "target glsl, type gpu, vendor intel"),
        ({"name": "QUALCOMM Adreno(TM) 740"}, "adreno", None),
        ({"name": "Mali-G78", "vendor": "ARM"}, "mali", None),
        ({"vendor": "Imagination Technologies"}, "powervr", None),
        ({"name": "Apple M1", "vendor": "Apple"}, "apple", None),
        ({}, "gpu", "any"),
        ({"type": "cpu", "target": "glsl"}, "llvmpipe", "target glsl, type cpu"),
        (
            {"type": "cpu", "platform": "rusticl", "name": "llvmpipe (LLVM 19.1.7, 256 bits)"},
            "llvmpipe",
            "target opencl, type cpu, name llvmpipe",
        ),
        ({"target": "glsl", "vendor": "ARM"}, "mali", "type gpu, vendor arm"),
    ],
)
def test_the_profile_of_a_device(said: dict[str, Any], name: str, because: str | None) -> None:
    found = match(device(**said))
    assert found.profile.name == name
    assert because is None or str(found.rule) == because


@pytest.mark.parametrize("target", ["glsl", "vulkan", "wgsl"])
@pytest.mark.parametrize("name", ["auto", "adreno"])
def test_kernels_bind_no_more_than_every_device_allows(name: str, target: str) -> None:
    """128 MiB, in OpenGL ES, Vulkan and WebGPU; OpenCL guarantees a share of the memory."""
    assert choose_profile(name, target).max_binding == 1 << 27
    assert choose_profile("adreno", "opencl").max_binding > 1 << 27


def test_offsets_suit_the_attached_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it needs more than those of its profile, which suit NVIDIA and Mesa's rusticl."""
    for needed, expected in ((128, 512), (512, 512), (4096, 4096)):
        info = replace(device(), limits=replace(device().limits, alignment=needed))
        monkeypatch.setattr(attached, "select_device", lambda *_, info=info: info)
        assert choose_profile("some", "opencl").alignment == expected


@pytest.mark.parametrize(("texels", "storage"), [(0, "buffer"), (1 << 16, "image")])
def test_images_are_for_devices_that_have_them(
    texels: int, storage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Adreno by Mesa's OpenCL has none that could be parts of buffers."""
    info = device(name="Adreno 740")
    info = replace(info, limits=replace(info.limits, image_texels=texels))
    monkeypatch.setattr(attached, "select_device", lambda *_: info)
    chosen = choose_profile("some", "opencl")
    assert (chosen.weight_storage, chosen.tensor_storage) == (storage, storage)


def test_every_profile_can_be_read_and_is_for_something() -> None:
    assert {item.slice_width for item in profiles().values()} == {4, 8, 16}
    assert [name for name, item in profiles().items() if not item.match] == ["amd_rdna2", "gles31"]


def test_a_profile_like_another_one(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text('like = "nvidia"\nheavy_group = 64\n')
    own, other = asdict(profile(str(path))), asdict(profile("nvidia"))
    differing = {key: own[key] for key in own if own[key] != other[key]}
    assert differing.pop("name").startswith("own_")
    assert differing == {"heavy_group": 64, "match": ()}


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "My board.toml"
    path.write_text(CPU.replace("slice_width = 4", "slice_width = 8"))
    plan = pipeline.build(DIGITS_MODEL, Options(device=str(path))).plan
    assert plan.profile.startswith("my_board_") and f'"{plan.profile}"' in plan.options
    assert {tensor.lanes for tensor in plan.tensors} <= {0, 8}
    path.write_text(CPU)
    # Plans are kept by the profile's name, so that of another content is another one.
    assert profile(str(path)).name != plan.profile


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("alignment = 256", "", "lacks the keys alignment"),
        ("description", 'like = "cuda"\ndescription', "like: no device profile 'cuda'; choose one"),
        (
            "alignment = 256",
            "alignment = 256\nwarps = 32",
            "has unknown keys warps; known keys are descript",
        ),
        ("alignment = 256", 'alignment = "256"', "alignment is '256', but must be a whole number"),
        ("alignment = 256", "alignment = true", "alignment is True, but must be a whole number"),
        ("alignment = 256", "alignment = 100", "alignment is 100, but must be a power of two"),
        ("slice_width = 4", "slice_width = 64", "slice_width is 64, but must be 4 to 16"),
        (
            "light_group = 64",
            "light_group = 8192",
            "light_group is 8192, but must be at most max_group",
        ),
        ("alignment = 256", "alignment 256", "is not a TOML file: "),
        (
            "work_items",
            'half_arithmetic = ["metal"]\nwork_items',
            "half_arithmetic is ['metal'], but must be a list of kernel languages opencl, glsl, "
            "vulkan",
        ),
        ("blocks = true", "blocks = 1", "transposed_blocks is 1, but must be true or false"),
        (
            "work_items",
            'sub_groups = ["glsl"]\nwork_items',
            "sub_groups is ['glsl'], but must be a list of kernel languages opencl, vulkan",
        ),
        (
            "work_items",
            "weight_storage = 4\nwork_items",
            "weight_storage is 4, but must be a string",
        ),
        (
            "work_items",
            'tensor_storage = "texture"\nwork_items',
            "tensor_storage is 'texture', but must be one of buffer, image",
        ),
        (
            "work_items",
            'tensor_storage = "image"\nwork_items',
            "tensor_storage is 'image', so persistent_kernels must be 0",
        ),
        (
            "slice_width = 4",
            'weight_storage = "image"\nslice_width = 8',
            "weight_storage is 'image', so slice_width must be 4",
        ),
        (
            "slice_width = 4",
            'byte_products = ["glsl"]\nslice_width = 4',
            "byte_products is ['glsl'], but must be a list of kernel languages opencl, vulkan",
        ),
        (
            "persistent_kernels = 64",
            'byte_products = ["opencl"]\nweight_storage = "image"\npersistent_kernels = 0',
            "byte_products has 'opencl', so weights and tensors must be buffers",
        ),
        (
            '["opencl"]',
            '["vulkan", "metal"]\nbyte_products = ["vulkan"]',
            "byte_products has 'vulkan', so targets must not have 'metal'",
        ),
        ('["opencl"]', '["opencl", "cuda"]', "targets is ['opencl', 'cuda'], but must be a list"),
        ('["opencl"]', "[]", "targets is empty, but must have one of opencl, glsl, vulkan, metal"),
        (
            'target = "opencl"',
            'colour = "red"',
            "match has unknown keys colour; known keys are target",
        ),
        ('target = "opencl"', "target = 3", "match: target is 3, but must be a string"),
    ],
)
def test_a_wrong_profile(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(CPU.replace(old, new, 1))
    with pytest.raises(OptionError) as caught:
        profile(str(path))
    assert str(caught.value).startswith(str(path)) and message in str(caught.value)


def test_a_profile_without_end(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text("a = " + "[" * 100_000)
    with pytest.raises(OptionError, match=r"own\.toml is not a TOML file: "):
        profile(str(path))


def test_a_profile_that_is_not_there(tmp_path: Path) -> None:
    result = invoke("compile", DIGITS_MODEL, "-o", tmp_path, "--device", "missing.toml", code=1)
    assert (
        result.stderr == "error: cannot read the profile missing.toml: No such file or directory\n"
    )


def test_every_number_of_a_profile_has_limits() -> None:
    assert int not in get_type_hints(Profile, include_extras=True).values()
