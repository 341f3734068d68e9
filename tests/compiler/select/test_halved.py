"""Caches of keys and values are stored in half precision where slices are, and nothing else is."""

from pathlib import Path

import numpy as np
import pytest
from devices import Attached
from graphs import drawn, parsed
from graphs.signatures import Entry, signed

import tflgpu
from tflgpu.compiler import Options, build
from tflgpu.compiler.options import Precision

ROWS, DEPTH = 96, 32
SHAPE = (1, 2, ROWS, DEPTH)
KEEP = {"keys": "cache"}

DECODER = f"""
    input cache float32[1,2,{ROWS},{DEPTH}]
    input row float32[1,2,{{rows}},{DEPTH}]
    input place int32[4] = 0,0,7,0
    keys = DYNAMIC_UPDATE_SLICE(cache, row, place)
    scores = BATCH_MATMUL(row, keys) adj_y=True
    weights = SOFTMAX(scores) beta=1.0
    y = BATCH_MATMUL(weights, keys)
    {{more}}
    output keys, {{outputs}}
"""


def decoder(rows: int = 1, more: str = "", outputs: str = "y") -> str:
    return DECODER.format(rows=rows, more=more, outputs=outputs)


def bytes_of_cache(source: str, precision: Precision = "f16", device: str = "gpu") -> int:
    options = Options(device=device, precision=precision, fallback="none", keep=tuple(KEEP.items()))
    (cache,) = build(parsed(source).content, options).plan.variables
    return cache.size


WHOLE = 4 * int(np.prod(SHAPE))


@pytest.mark.parametrize(
    ("precision", "device", "size"),
    [
        ("f32", "gpu", WHOLE),
        ("f16", "gpu", WHOLE // 2),
        ("f32_f16", "gpu", WHOLE // 2),
        ("f16", "cpu", WHOLE),
    ],
)
def test_a_cache_takes_half_the_memory(precision: Precision, device: str, size: int) -> None:
    assert bytes_of_cache(decoder(), precision, device) == size


def test_what_is_only_updated_does_too() -> None:
    source = f"""
        input cache float32[1,2,{ROWS},{DEPTH}]
        input row float32[1,2,1,{DEPTH}]
        input place int32[4] = 0,0,7,0
        keys = DYNAMIC_UPDATE_SLICE(cache, row, place)
        y = NEG(row)
        output keys, y
    """
    assert bytes_of_cache(source) == WHOLE // 2


@pytest.mark.parametrize("precision", ["f32", "f16"])
def test_a_cache_of_float16_takes_no_more_than_in_the_model(precision: Precision) -> None:
    """Nothing but the update and attention runs: attention reads the cache as it is."""
    made = parsed(decoder_of_halves(), half="float16", keys="float16")
    options = Options(device="gpu", precision=precision, keep=tuple(KEEP.items()))
    plan = build(made.content, options).plan
    assert [variable.size for variable in plan.variables] == [WHOLE // 2]
    assert [plan.kernels[each.kernel].file.split("_", 1)[1] for each in plan.dispatches] == [
        "convert.cl",
        "update_in_place_rows.cl",
        "attention_group.cl",
    ]


def decoder_of_halves() -> str:
    """The same with a cache of float16."""
    cache = f"cache float32[1,2,{ROWS},{DEPTH}]"
    text = decoder().replace(cache, cache.replace("float32", "float16") + " = 0")
    text = text.replace("(cache, row, place)", "(cache, half, place)")
    text = text.replace("    keys =", "    half = CAST(row)\n    keys =", 1)
    text = text.replace("    scores =", "    wide = CAST(keys)\n    scores =", 1)
    return text.replace("(row, keys)", "(row, wide)").replace("(weights, keys)", "(weights, wide)")


@pytest.mark.parametrize(
    ("more", "outputs"),
    [
        ("z = TANH(keys)", "y, z"),  # Read by another operator than attention.
        (f"z = RESHAPE(keys) new_shape=(2,{ROWS},{DEPTH})", "y, z"),  # An output itself.
    ],
)
def test_what_others_read_stays_whole(more: str, outputs: str) -> None:
    assert bytes_of_cache(decoder(more=more, outputs=outputs)) == WHOLE


def test_masks_stay_whole() -> None:
    source = f"""
        input cache float32[1,1,12,8]
        input seen float32[1,1,1,8]
        input q float32[1,2,12,{DEPTH}]
        input k float32[1,2,8,{DEPTH}]
        input place int32[4] = 0,0,7,0
        keys = DYNAMIC_UPDATE_SLICE(cache, seen, place)
        products = BATCH_MATMUL(q, k) adj_y=True
        scores = ADD(products, keys)
        weights = SOFTMAX(scores) beta=1.0
        y = BATCH_MATMUL(weights, k)
        output keys, y
    """
    assert bytes_of_cache(source) == 4 * 12 * 8


def test_a_state_that_is_computed_again_stays_whole() -> None:
    source = f"""
        input cache float32[1,2,{ROWS},{DEPTH}]
        input row float32[1,2,1,{DEPTH}]
        keys = ADD(cache, row)
        y = NEG(row)
        output keys, y
    """
    assert bytes_of_cache(source) == WHOLE


def test_a_state_that_is_replaced_stays_whole() -> None:
    source = f"""
        input cache float32[1,2,{ROWS},{DEPTH}]
        input q float32[1,2,12,{DEPTH}]
        input next float32[1,2,{ROWS},{DEPTH}]
        scores = BATCH_MATMUL(q, cache) adj_y=True
        weights = SOFTMAX(scores) beta=1.0
        y = BATCH_MATMUL(weights, cache)
        keys = TANH(next)
        output keys, y
    """
    assert bytes_of_cache(source) == WHOLE


def test_an_update_of_parts_of_rows_stays_whole() -> None:
    source = decoder().replace(f"row float32[1,2,1,{DEPTH}]", "row float32[1,2,1,16]")
    source = source.replace("BATCH_MATMUL(row, keys)", "BATCH_MATMUL(query, keys)")
    source = source.replace("    keys =", f"    input query float32[1,2,1,{DEPTH}]\n    keys =", 1)
    assert bytes_of_cache(source) == WHOLE


def test_an_operator_kept_in_single_precision_keeps_its_cache() -> None:
    options = Options(
        device="gpu", precision="f16", fallback="none", keep=tuple(KEEP.items()), keep_f32=("y",)
    )
    (cache,) = build(parsed(decoder()).content, options).plan.variables
    assert cache.size == WHOLE


def several(sources: dict[str, str]) -> bytes:
    """A model with a signature for each text, whose tensors are named as there."""
    entries = {}
    for key, source in sources.items():
        graph = parsed(source).graph
        inputs = {name: place for place, name in enumerate(graph.input_names)}
        outputs = {name: place for place, name in enumerate(graph.output_names)}
        entries[key] = Entry(graph, inputs, outputs)
    return signed(entries)


def sizes(content: bytes) -> set[int]:
    options = Options(
        device="gpu", precision="f16", fallback="none", keep=tuple(KEEP.items()), signature=("all",)
    )
    compiled = build(content, options)
    plans = [compiled.plan, *(each.plan for each in compiled.specializations)]
    return {variable.size for plan in plans for variable in plan.variables}


def test_signatures_store_it_alike() -> None:
    both = {"prefill": decoder(rows=24), "decode": decoder()}
    assert sizes(several(both)) == {WHOLE // 2}
    other = decoder(more="z = TANH(keys)", outputs="y, z")
    assert sizes(several({**both, "other": other})) == {WHOLE}


@pytest.mark.parametrize("precision", ["f16", "f32_f16"])
def test_results_are_those_of_rounded_rows(
    attached: Attached, tmp_path: Path, precision: Precision
) -> None:
    """Keys are rounded once, as they are written; where a row lies makes no difference."""
    path = tflgpu.compile(
        several({"prefill": decoder(rows=24), "decode": decoder()}),
        tmp_path,
        target=attached.target,
        device="gpu",
        precision=precision,
        fallback="none",
        keep=KEEP,
        signature="all",
    )
    cache = np.zeros(SHAPE, np.float32)
    with tflgpu.load(path, device=attached.device) as session:
        for signature, rows, place in (("prefill", 24, 0), ("decode", 1, 24), ("decode", 1, 200)):
            row = drawn(f"{signature}{place}", (1, 2, rows, DEPTH))
            given = {"row": row, "place": np.array([0, 0, place, 0], np.int32)}
            result = session.run(given, signature=signature)["y"]
            start = min(place, ROWS - rows)
            cache[:, :, start : start + rows] = row.astype(np.float16)
            powers = np.exp(row @ cache.swapaxes(-1, -2))
            expected = powers / powers.sum(-1, keepdims=True) @ cache
            np.testing.assert_array_equal(session.read("cache"), cache)
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-3 * np.abs(row).max())


def test_a_cache_of_float16_holds_what_is_written(attached: Attached, tmp_path: Path) -> None:
    made = parsed(decoder_of_halves(), half="float16", keys="float16")
    path = tflgpu.compile(
        made.content, tmp_path, target=attached.target, device="gpu", fallback="none", keep=KEEP
    )
    row = drawn("row", (1, 2, 1, DEPTH))
    keys = np.zeros(SHAPE, np.float16)
    keys[:, :, 5:6] = row
    with tflgpu.load(path, device=attached.device) as session:
        result = session.run({"row": row, "place": np.array([0, 0, 5, 0], np.int32)})["y"]
        cache = session.read("cache")
    np.testing.assert_array_equal(cache, keys)
    wide = keys.astype(np.float32)
    powers = np.exp(row @ wide.swapaxes(-1, -2))
    expected = powers / powers.sum(-1, keepdims=True) @ wide
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 * np.abs(row).max())
