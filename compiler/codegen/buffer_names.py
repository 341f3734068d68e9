"""Names of buffers in SPIR-V, which translations of it print.

GLSL's blocks have none of their own, `buffer x_buffer { vec4 x[]; };`, so that glslangValidator
leaves their variables nameless, and spirv-cross calls them by numbers, as in `_35.x[i]`. Named
after their arrays they are `x.values[i]`. The instructions are those of section 3.52 of the
specification of SPIR-V.
"""

from collections.abc import Iterator, Sequence
from struct import pack, unpack

HEADER = 5  # Words before the first instruction.
NAME, MEMBER_NAME, POINTER, VARIABLE = 5, 6, 32, 59
MEMBER = "values"  # What the array of a buffer is called.

Words = tuple[int, ...]


def with_buffer_names(module: bytes) -> bytes:
    """A module in which each nameless buffer of one array has the array's name."""
    words = unpack(f"<{len(module) // 4}I", module)
    instructions = list(_instructions(words))
    pointed = {own[1]: own[3] for own in instructions if _opcode(own) == POINTER}
    nameless = {own[1] for own in instructions if _opcode(own) == NAME and not own[2]}
    variables = {
        pointed[own[1]]: own[2]
        for own in instructions
        if _opcode(own) == VARIABLE and own[2] in nameless
    }
    members = {own[1]: own[3:] for own in instructions if _opcode(own) == MEMBER_NAME}
    names = {variable: members[block] for block, variable in variables.items() if block in members}
    named: list[int] = list(words[:HEADER])
    for own in instructions:
        if _opcode(own) == NAME and own[1] in names:
            named += _instruction(NAME, own[1], *names[own[1]])
        elif _opcode(own) == MEMBER_NAME and own[1] in variables:
            named += _instruction(MEMBER_NAME, *own[1:3], *_text(MEMBER))
        else:
            named += own
    return pack(f"<{len(named)}I", *named)


def _instructions(words: Words) -> Iterator[Words]:
    """Each with its first word, which holds its length and opcode."""
    at = HEADER
    while at < len(words):
        yield words[at : at + (words[at] >> 16)]
        at += words[at] >> 16


def _opcode(instruction: Words) -> int:
    return instruction[0] & 0xFFFF


def _instruction(opcode: int, *operands: int) -> Sequence[int]:
    return (len(operands) + 1 << 16 | opcode, *operands)


def _text(text: str) -> Words:
    """A literal string: words of bytes that end with a zero."""
    content = text.encode()
    content += bytes(4 - len(content) % 4)
    return unpack(f"<{len(content) // 4}I", content)
