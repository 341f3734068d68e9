"""Long names of tensors in tables."""

from pathlib import Path

import pytest
from commands import as_json, invoke
from graphs import call, model, x

from tflgpu.compiler.ir.short_names import short_names, with_short_names

BLOCK = "timm.models.vit.VisionTransformer/torch.nn.modules.container.Sequential_blocks/"
PYTORCH = {
    f"{BLOCK}timm.models.vit.Block_8/timm.layers.attention.Attention_attn;6": "8/Attention_attn;6",
    f"{BLOCK}timm.models.vit.Block_9/torch.nn.modules.linear.Linear_fc1;1": "9/Linear_fc1;1",
    "serving_default_args_0:0": "serving_default_args_0:0",
}
TENSORFLOW = {
    "net/Conv2d_1/Relu6;tower/net/Conv2d_1/add_fold;net/Conv2d_1/depthwise": "Conv2d_1/Relu6;...",
    "net/Conv2d_2/Relu6": "Conv2d_2/Relu6",
}


@pytest.mark.parametrize("expected", [PYTORCH, TENSORFLOW])
def test_classes_and_common_prefixes_are_left_out(expected: dict[str, str]) -> None:
    short = short_names([f"MUL + ADD -> {name}" for name in expected])
    assert [with_short_names(name, short) for name in expected] == list(expected.values())
    joined = ", ".join(expected)
    assert with_short_names(f"it reads ({joined})", short).endswith(
        f"({', '.join(expected.values())})"
    )


def test_short_names_stay() -> None:
    assert not short_names(["net/Conv2d_1/Relu6", "net/Conv2d_2/Relu6"])


NET = "lib.Net_net/"
LONG = f"{NET}lib.Block_0/" + "lib.Attention_attention/" * 3 + "torch.nn.Conv_conv"


@pytest.mark.parametrize(
    "expected",
    [
        # The last components of the second names tell them apart.
        {
            f"{LONG};{NET}lib.Add_add": "Conv_conv;Add_add",
            f"{LONG};{NET}lib.Mul_mul": "Conv_conv;Mul_mul",
        },
        # Others of them.
        {
            f"{LONG};;{NET}lib.Block_0/lib.Norm_1/lib.Scale_s": "Conv_conv;;1/Scale_s",
            f"{LONG};;{NET}lib.Block_0/lib.Norm_2/lib.Scale_s": "Conv_conv;;2/Scale_s",
        },
        # The classes of modules that are in two lists.
        {LONG: "Block_0/%Conv_conv", LONG.replace("Block", "Up"): "Up_0/%Conv_conv"},
    ],
)
def test_different_names_stay_different(expected: dict[str, str]) -> None:
    short = short_names(expected)
    inner = "Attention_attention/" * 3
    assert list(short.values()) == [text.replace("%", inner) for text in expected.values()]


def test_tables_show_short_names_and_json_whole_ones(tmp_path: Path) -> None:
    (name,) = (name for name in PYTORCH if name.endswith(";1"))
    path = tmp_path / "model.tflite"
    path.write_bytes(model({name: call("EXP", x(2, 3))}).content)
    invoke("compile", path, "-o", tmp_path / "cache", "--device", "gpu")
    shown = invoke("inspect", tmp_path / "cache").stdout
    tables = shown[shown.index("Dispatches") :]
    assert "Linear_fc1" in tables and "--full-names" in tables
    assert "VisionTransformer" not in tables
    assert "VisionTransformer" in invoke("inspect", tmp_path / "cache", "--full-names").stdout
    tensors = as_json("inspect", tmp_path / "cache")["tensors"]
    assert name in [tensor["name"] for tensor in tensors]
