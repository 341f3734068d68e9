"""Translation of kernels for Vulkan (SPIR-V beside the sources) and Metal (instead of them).

glslangValidator and spirv-cross are external programs, needed only at compile time.

GLSL's blocks have no names, `buffer x_buffer { vec4 x[]; };`, so that glslangValidator leaves their
variables nameless, and spirv-cross calls them by numbers, as in `_35.x[i]`. It does the same with
results that it keeps in variables. Before Metal is made of it, SPIR-V therefore names buffers after
their arrays, `x.values[i]`, and results after what they are. The instructions are those of section
3.52 of the specification of SPIR-V.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, dropwhile
from struct import pack, unpack
from typing import TypeVar

from ...runtime.errors import TflgpuError
from ...runtime.plan.kernels import Companion, Kernel
from ..errors import RenderError
from ..scratch import scratch_folder

Result = TypeVar("Result")

PACKAGES = {"glslangValidator": "glslang-tools", "spirv-cross": "spirv-cross"}
LEAST = "vulkan1.0"
# The version of Vulkan that has what a device must have, if not the least.
ENVIRONMENTS = {"VK_SUBGROUP_FEATURE_ARITHMETIC_BIT": "vulkan1.1"}
METAL_VERSION = "20100"  # Metal 2.1, the first with arithmetic of sub-groups.


class ToolError(TflgpuError):
    """A program that the target needs is not installed; the message says how to install it."""


@dataclass(frozen=True)
class Translated:
    """Kernels with their sources and companion files, by file name."""

    kernels: tuple[Kernel, ...]
    sources: dict[str, str]
    companions: dict[str, bytes]

    @property
    def records(self) -> tuple[Companion, ...]:
        """The companions as the plan lists them."""
        files = self.companions.items()
        return tuple(Companion(file, hashlib.sha256(data).digest()) for file, data in files)


def translate(
    kernels: tuple[Kernel, ...],
    sources: Mapping[str, str],
    comments: Mapping[str, str],
    target: str,
) -> Translated:
    """The kernels and files in a target's form (ToolError if a program for it is missing).

    `comments` has the comment at the top of each source, which translations lose.
    """
    if target not in ("vulkan", "metal"):
        return Translated(kernels, dict(sources), {})
    needed = {kernel.file: kernel.extensions for kernel in kernels}
    modules = _side_by_side(lambda file: assemble(sources[file], file, needed[file]), sources)
    if target == "vulkan":
        companions = {f"{file.removesuffix('.comp')}.spv": modules[file] for file in sources}
        return Translated(kernels, dict(sources), companions)
    names = {kernel.file: kernel.name for kernel in kernels}
    texts = _side_by_side(lambda file: to_metal(modules[file], file, names[file]), sources)
    metal = {
        f"{file.removesuffix('.comp')}.metal": f"{comments[file]}\n{text}"
        for file, text in texts.items()
    }
    renamed = [
        replace(
            kernel,
            file=file,
            sha256=hashlib.sha256(metal[file].encode()).digest(),
            extensions=(),  # named as in Vulkan; every GPU with Metal computes in half
            bodies=(),
        )
        for kernel in kernels
        for file in [kernel.file.removesuffix(".comp") + ".metal"]
    ]
    return Translated(tuple(renamed), metal, {})


def _side_by_side(translate: Callable[[str], Result], files: Iterable[str]) -> dict[str, Result]:
    """What becomes of each file. The programs take one at a time, and longest to start."""
    with ThreadPoolExecutor() as pool:
        return dict(zip(files, pool.map(translate, files), strict=True))


def assemble(source: str, file: str, extensions: Sequence[str] = ()) -> bytes:
    """Compile a shader that needs those extensions to SPIR-V (RenderError of `file`, ToolError)."""
    environment = max([ENVIRONMENTS.get(each, LEAST) for each in extensions], default=LEAST)
    with scratch_folder() as folder:
        shader, module = folder / "kernel.comp", folder / "kernel.spv"
        shader.write_text(source, encoding="utf-8")
        command = ["glslangValidator", "-V", "--target-env", environment, "-S", "comp"]
        _run([*command, str(shader), "-o", str(module)], file)
        return module.read_bytes()


def to_metal(module: bytes, file: str, name: str) -> str:
    """Metal from a SPIR-V module, its entry point named as said (RenderError, ToolError)."""
    with scratch_folder() as folder:
        path = folder / "kernel.spv"
        path.write_bytes(with_names(module))
        command = ["spirv-cross", "--msl", "--msl-version", METAL_VERSION]
        return _run([*command, "--rename-entry-point", "main", name, "comp", str(path)], file)


def _run(command: Sequence[str], file: str) -> str:
    if shutil.which(command[0]) is None:
        raise ToolError(
            f"this target needs {command[0]}, which is not installed; on Debian: "
            f"apt install {PACKAGES[command[0]]}"
        )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RenderError(f"{command[0]} failed on {file}:\n{done.stdout}{done.stderr}")
    return done.stdout


HEADER = 5  # Words before the first instruction.
NAME, MEMBER_NAME, POINTER, FUNCTION, VARIABLE = 5, 6, 32, 54, 59
MEMBER = "values"  # What the array of a buffer is called.
# What results are called, by the instruction of their type: truth values, integers, floats and
# vectors.
RESULTS = {20: "holds", 21: "number", 22: "value", 23: "value"}

Words = tuple[int, ...]


def with_names(module: bytes) -> bytes:
    """A module in which nameless buffers of one array have its name, and results one of theirs."""
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
    names |= _results(instructions, pointed)
    first = [_opcode(own) for own in instructions].index(NAME)
    named = [_instruction(NAME, item, *name) for item, name in names.items()]
    for own in instructions[first:]:
        if _opcode(own) == MEMBER_NAME and own[1] in variables:
            named.append(_instruction(MEMBER_NAME, *own[1:3], *_text(MEMBER)))
        elif _opcode(own) != NAME or own[1] not in names:
            named.append(own)
    found = [*words[:HEADER], *chain(*instructions[:first], *named)]
    return pack(f"<{len(found)}I", *found)


def _results(instructions: Sequence[Words], pointed: Mapping[int, int]) -> dict[int, Words]:
    """Names of nameless results and variables in functions."""
    kinds = {own[1]: RESULTS[_opcode(own)] for own in instructions if _opcode(own) in RESULTS}
    kinds |= {pointer: kinds[kind] for pointer, kind in pointed.items() if kind in kinds}
    named = {own[1] for own in instructions if _opcode(own) == NAME}
    body = dropwhile(lambda own: _opcode(own) != FUNCTION, instructions)
    typed = (own for own in body if len(own) > 2 and own[1] in kinds)
    return {own[2]: _text(kinds[own[1]]) for own in typed if own[2] not in named}


def _instructions(words: Words) -> Iterator[Words]:
    """Each with its first word, which holds its length and opcode."""
    at = HEADER
    while at < len(words):
        yield words[at : at + (words[at] >> 16)]
        at += words[at] >> 16


def _opcode(instruction: Words) -> int:
    return instruction[0] & 0xFFFF


def _instruction(opcode: int, *operands: int) -> Words:
    return (len(operands) + 1 << 16 | opcode, *operands)


def _text(text: str) -> Words:
    """A literal string: words of bytes that end with a zero."""
    content = text.encode()
    content += bytes(4 - len(content) % 4)
    return unpack(f"<{len(content) // 4}I", content)
