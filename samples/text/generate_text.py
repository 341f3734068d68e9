"""Continue a text: compile text.tflite, load the result, run it character by character.

    python samples/text/generate_text.py "# Getting started"

The prompt goes into the cache of keys and values with the signature `prefill`, 32 characters at a
time; each run of `decode` puts one more there and says what may follow it. The cache stays on the
device.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tflgpu

HERE = Path(__file__).parent
MODEL = HERE / "text.tflite"
# What a token stands for, by its number.
CHARACTERS = "\n" + "".join(map(chr, range(ord(" "), ord("~") + 1)))
CONTEXT, CHUNK = 256, 32  # Tokens that the cache holds, and those of a run of `prefill`.
KEEP = {"keys_*": "keys_*", "values_*": "values_*"}

Array = NDArray[Any]
# Runs a signature on tokens and where they start.
Run = Callable[[str, dict[str, Array]], dict[str, Array]]


def on_litert() -> Run:
    """LiteRT, which takes the cache from run to run."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(MODEL), num_threads=2)
    runners = {name: interpreter.get_signature_runner(name) for name in ("prefill", "decode")}
    details = runners["decode"].get_input_details()
    cache = {name: np.zeros(details[name]["shape"], np.float32) for name in details}
    del cache["tokens"], cache["start"]

    def run(signature: str, inputs: dict[str, Array]) -> dict[str, Array]:
        outputs: dict[str, Array] = runners[signature](**inputs, **cache)
        cache.update({name: outputs.pop(name) for name in cache})
        return outputs

    return run


def continued(prompt: str, run: Run, temperature: float, seed: int) -> Iterator[str]:
    """The characters that follow the prompt, without end."""
    generator = np.random.default_rng(seed)
    text = [CHARACTERS.index(character) for character in prompt]
    place = CONTEXT
    while True:
        if place == CONTEXT:
            # The cache is full: go on from its second half.
            text = text[-CONTEXT // 2 :]
            for start in range(0, len(text), CHUNK):
                part = np.zeros((1, CHUNK), np.int32)
                part[0, : len(text) - start] = text[start : start + CHUNK]
                run("prefill", {"tokens": part, "start": np.array([start], np.int32)})
            place = len(text) - 1
        step = {"tokens": np.array([text[-1:]], np.int32), "start": np.array([place], np.int32)}
        scores = run("decode", step)["scores"][0]
        powers = np.exp((scores - scores.max()) / temperature)
        text.append(int(generator.choice(len(powers), p=powers / powers.sum())))
        place += 1
        yield CHARACTERS[text[-1]]


def show(arguments: argparse.Namespace, run: Run) -> None:
    """Print the prompt and what follows, and how fast that came."""
    print(arguments.prompt, end="", flush=True)
    follows = continued(arguments.prompt, run, arguments.temperature, arguments.seed)
    print(next(follows), end="", flush=True)  # Kernels may take longer when they first run.
    start = time.perf_counter()
    for _ in range(arguments.length):
        print(next(follows), end="", flush=True)
    seconds = time.perf_counter() - start
    print(flush=True)
    print(f"{arguments.length / seconds:.0f} characters a second", file=sys.stderr)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Continue a text.")
    parser.add_argument("prompt", help="printable ASCII, at least a character")
    parser.add_argument("--length", type=int, default=400, help="characters after the first")
    parser.add_argument("--temperature", type=float, default=0.5, help="near 0: the likeliest")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder that keeps the compiled model")
    parser.add_argument("--device", default="auto", help="part of a name `tflgpu devices` prints")
    parser.add_argument("--litert", action="store_true", help="with LiteRT, to compare")
    arguments = parser.parse_args()
    if not arguments.prompt or not set(arguments.prompt) <= set(CHARACTERS):
        parser.error("the prompt needs a character, and none but printable ASCII")
    if arguments.temperature <= 0:
        parser.error("the temperature must be above 0")
    return arguments


def main() -> int:
    """Read the command line, print the text; the exit code."""
    arguments = parsed()
    if arguments.litert:
        show(arguments, on_litert())
        return 0
    try:
        with tempfile.TemporaryDirectory() as temporary:
            cache, device = arguments.cache or Path(temporary), arguments.device
            path = tflgpu.compile(MODEL, cache, device=device, signature="all", keep=KEEP)
            with tflgpu.load(path, device=device) as session:
                show(arguments, lambda signature, inputs: session.run(inputs, signature=signature))
    except tflgpu.TflgpuError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
