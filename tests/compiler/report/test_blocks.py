"""Repeated blocks of a graph."""

from random import Random

import pytest

from tflgpu.compiler.report.graphs import Block, repeated_blocks


def found(text: str) -> list[str]:
    """The blocks in a text whose letters are operators, in order: their kinds and letters."""
    return [
        f"{block.kind}{text[block.start : block.start + block.length]}"
        for block in repeated_blocks(list(text))
    ]


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("", []),
        ("abcdefgh", []),
        # Two pairs save one node, which is not worth a block.
        ("abxab", []),
        ("xabcabcabcy", ["0abc", "0abc", "0abc"]),
        ("abcdxabcdyabcd", ["0abcd", "0abcd", "0abcd"]),
        # A run of one operator has no shortest block of several.
        ("aaaaaaaaaa", []),
        ("abcabcabcuvwuvwuvw", ["0abc", "0abc", "0abc", "1uvw", "1uvw", "1uvw"]),
    ],
)
def test_blocks_of_texts(text: str, blocks: list[str]) -> None:
    assert found(text) == blocks


def test_blocks_know_how_many_there_are() -> None:
    assert repeated_blocks(list("zabcabcabc")) == [
        Block(kind=0, number=number, of=3, start=1 + 3 * number, length=3) for number in range(3)
    ]


def test_blocks_of_a_kind_are_alike_and_apart() -> None:
    for seed in range(20):
        names = Random(seed).choices("abc", k=120)
        blocks = repeated_blocks(names)
        ends = [0, *(block.start + block.length for block in blocks)]
        assert all(block.start >= end for block, end in zip(blocks, ends, strict=False))
        for block in blocks:
            alike = [other for other in blocks if other.kind == block.kind]
            assert len(alike) == block.of >= 2
            runs = {tuple(names[item.start : item.start + item.length]) for item in alike}
            assert len(runs) == 1
