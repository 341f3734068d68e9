"""Attention spelled out; numbers are compared in tests/compiler/ops."""

from collections.abc import Sequence

import pytest
from cases.attention import attention, attentions, batches_of_heads, hidden, in_front, shared_heads
from graphs import Value, call, number, reshape, x
from rewriting import assert_becomes, assert_declines, operators, rewritten

from tflgpu.compiler.rewrites.recognize.recognize_attention import recognize_attention

SPELLINGS = {case.situation: case.value for case in attentions()}

WITH_FACTORS = """
y/reshape0.0 = RESHAPE(q) new_shape=(1,4,9,16)
y/reshape1.0 = RESHAPE(f) new_shape=(1,4,1,1)
y/mul2.0 = MUL(y/reshape0.0, y/reshape1.0)
y/reshape3.0 = RESHAPE(m) new_shape=(1,1,9,7)
y/transpose5.0 = TRANSPOSE(y/reshape3.0, y/constant5)
y/attention6.0 = tflgpu.attention(y/mul2.0, k, v, y/transpose5.0) \
scale=1.0 heads=4 key_heads=1 joined=False
y = RESHAPE(y/attention6.0) new_shape=(1,36,32)
"""


@pytest.mark.parametrize("situation", SPELLINGS)
def test_every_spelling(situation: str) -> None:
    value = SPELLINGS[situation]
    assert isinstance(value, Value)
    found = operators(value, recognize_attention)
    assert "tflgpu.attention" in found and "SOFTMAX" not in found


def test_heads_stay_in_the_channels_of_a_projection() -> None:
    found = operators(shared_heads(), recognize_attention)
    assert "TRANSPOSE" not in found and "BROADCAST_TO" not in found


def test_heads_as_batches_of_the_products_are_shared() -> None:
    found = operators(batches_of_heads(), recognize_attention)
    assert found.count("TRANSPOSE") == 0 and "BROADCAST_TO" not in found


def test_scales_before_and_after_the_product() -> None:
    source = """
        input q float32[2,9,16]
        input k float32[2,7,16]
        input v float32[2,7,32]
        constant half float32[] = 0.5
        constant four float32[] = 4
        a = MUL(q, half)
        s = BATCH_MATMUL(a, k) adj_y=True
        t = DIV(s, four)
        p = SOFTMAX(t) beta=1.0
        y = BATCH_MATMUL(p, v)
        output y
    """
    expected = """
        y/attention0.0 = tflgpu.attention(q, k, v) scale=0.125 heads=1 key_heads=1 joined=False
        y = RESHAPE(y/attention0.0) new_shape=(2,9,32)
    """
    assert_becomes(source, expected, recognize_attention)


def test_heads_that_are_rows_of_one_matrix_and_have_factors() -> None:
    source = """
        input q float32[1,36,16]
        input k float32[1,7,16]
        input v float32[1,7,32]
        input f float32[4,1,1]
        input m float32[9,7]
        s = BATCH_MATMUL(q, k) adj_y=True
        r = RESHAPE(s) new_shape=(4,9,7)
        t = MUL(r, f)
        u = ADD(t, m)
        w = RESHAPE(u) new_shape=(1,36,7)
        p = SOFTMAX(w) beta=1.0
        y = BATCH_MATMUL(p, v)
        output y
    """
    assert_becomes(source, WITH_FACTORS, recognize_attention)


def test_factors_that_are_computed_of_heads_in_the_channels() -> None:
    heads = [in_front(x(2, 19, 48), 2, 19, 3, 16) for _ in "qkv"]
    product = call("BATCH_MATMUL", *heads[:2], adj_y=True)
    powers = call("SOFTMAX", call("MUL", product, x(1, 3, 1, 1)), beta=1.0)
    value = call("BATCH_MATMUL", powers, heads[2])
    assert_declines(value, "parts of the channels are computed", recognize_attention)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (attention(x(2, 1, 7), x(2, 9, 7), x(2, 9, 16)), "few queries need heads of whole"),
        (attention(x(9, 272), x(9, 272), x(9, 16)), "272 channels are longer than 256"),
    ],
)
def test_what_the_kernels_do_not_compute(source: Value, reason: str) -> None:
    assert_declines(source, reason, recognize_attention)


MASK, FACTORS = x(2, 3, 19, 19), x(1, 3, 1, 1)


@pytest.mark.parametrize(
    ("steps", "found"),
    [
        ((("MUL", number(0.5)), ("ADD", MASK)), True),
        ((("MUL", FACTORS), ("ADD", MASK)), True),
        ((("ADD", MASK), ("MUL", number(0.5))), False),
        ((("ADD", MASK), ("MUL", FACTORS)), False),
        ((("MUL", x(19)),), False),
    ],
    ids=["scaled", "by heads", "a scaled mask", "a mask by heads", "factors of keys"],
)
def test_masks_are_added_to_scaled_scores(steps: Sequence[tuple[str, Value]], found: bool) -> None:
    q, k, v = (x(2, 3, 19, 16) for _ in "qkv")
    scores: Value = call("BATCH_MATMUL", q, k, adj_x=False, adj_y=True)
    for name, other in steps:
        scores = call(name, scores, other)
    powers = call("SOFTMAX", scores, beta=1.0)
    value = call("BATCH_MATMUL", powers, v, adj_x=False, adj_y=False)
    assert ("tflgpu.attention" in operators(value, recognize_attention)) == found


def in_columns(queries: int) -> Value:
    """Attention to values that lie in columns, as in caches that are written so."""
    scores = call("BATCH_MATMUL", x(1, queries, 64), x(1, 40, 64), adj_y=True)
    return call("BATCH_MATMUL", call("SOFTMAX", scores, beta=1.0), x(1, 64, 40), adj_y=True)


def test_columns_become_rows_for_many_scores_alone() -> None:
    reason = "the values would be copied in rows, which are more than the scores"
    assert_declines(in_columns(31), reason, recognize_attention)
    assert operators(in_columns(32), recognize_attention).startswith(
        "RESHAPE  TRANSPOSE  tflgpu.attention"
    )


@pytest.mark.parametrize(
    ("queries", "reason"),
    [
        (1, "few queries of 17 slices do not stay in registers"),
        (9, "queries of 128 and results of 144 channels do not stay in the cache"),
    ],
)
def test_long_heads_on_a_processor(queries: int, reason: str) -> None:
    value = attention(x(2, queries, 128), x(2, 9, 128), x(2, 9, 144))
    _, events = rewritten(value, recognize_attention, device="cpu_avx512")
    assert [event.reason for event in events] == [reason]


def test_a_mask_is_a_buffer_of_its_own() -> None:
    spelled = SPELLINGS["attention with a bias and few keys"]
    _, events = rewritten(spelled, recognize_attention, device="gles31")
    reason = "with a mask the kernel would need 5 buffers, but the device allows 4"
    assert [event.reason for event in events] == [reason]


def test_powers_that_are_used_elsewhere() -> None:
    powers = call("SOFTMAX", call("BATCH_MATMUL", x(2, 9, 16), x(2, 9, 16), adj_y=True), beta=1.0)
    value = call("ADD", powers, call("BATCH_MATMUL", powers, x(2, 9, 9)))
    assert_declines(value, "is also used elsewhere", recognize_attention)


def test_a_number_is_no_row_of_scores() -> None:
    value = call("BATCH_MATMUL", reshape(call("TANH", x()), 1, 1), x(1, 9))
    assert operators(value, recognize_attention) == "TANH  RESHAPE  BATCH_MATMUL"


def test_a_query_that_is_a_number() -> None:
    value = attention(reshape(call("TANH", x()), 1, 1), x(9, 1), x(9, 16))
    assert_declines(value, "few queries need heads of whole", recognize_attention)


def test_scores_are_replaced_by_numbers_that_may_show() -> None:
    padding = call("GREATER", x(2, 1, 7), number(0.0))
    value = hidden(x(2, 9, 16), x(2, 7, 16), x(2, 7, 16), padding, fill=-1e4)
    assert "SOFTMAX" in operators(value, recognize_attention)
