"""Operators whose results nothing reads."""

from rewriting import assert_becomes

from tflgpu.compiler.rewrites.canonicalize.infer_and_fold import eliminate_dead_code


def test_what_feeds_only_dead_operators_is_removed_too() -> None:
    source = """
        input x float32[5]
        y = EXP(x)
        inner = ABS(x)
        gone = NEG(inner)
        output y
    """
    assert_becomes(source, "y = EXP(x)", eliminate_dead_code)


def test_an_operator_with_one_used_result_stays() -> None:
    source = """
        input x float32[4,5]
        constant axis int32[] = 0
        first, second = SPLIT(axis, x) num_splits=2
        gone = NEG(second)
        y = EXP(first)
        output y
    """
    expected = """
        first, second = SPLIT(axis, x) num_splits=2
        y = EXP(first)
    """
    assert_becomes(source, expected, eliminate_dead_code)
