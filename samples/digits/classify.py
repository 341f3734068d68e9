"""Say which digit a picture shows: compile digits.tflite, load the result, run it.

    python samples/digits/classify.py samples/digits/images/7.png

The network was trained on bright strokes on black, 8 x 8 pixels, so a picture of any size is
made grey and averaged down to that; values 0 to 255 become 0 to 1.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

import tflgpu

HERE = Path(__file__).parent


def read_picture(path: Path) -> NDArray[np.float32]:
    """The picture as the network wants it: [1, 8, 8, 1], 0 for black to 1 for white."""
    with Image.open(path) as picture:
        small = picture.convert("L").resize((8, 8), Image.Resampling.BOX)
    return np.asarray(small, np.float32).reshape(1, 8, 8, 1) / np.float32(255)


def classify(image: NDArray[np.float32], cache: Path, device: str) -> NDArray[np.float32]:
    """The probability of each label; compiles into `cache` unless that was done before."""
    compiled = tflgpu.compile(HERE / "digits.tflite", cache, device=device)
    with tflgpu.load(compiled, device=device) as session:
        probabilities: NDArray[np.float32] = session.run({"image": image})["probabilities"][0]
    return probabilities


def main() -> int:
    """Read the command line, print the most probable label; the exit code."""
    parser = argparse.ArgumentParser(description="Say which digit a picture shows.")
    parser.add_argument("picture", type=Path, help="a bright digit on black, any size")
    parser.add_argument("--cache", type=Path, help="folder that keeps the compiled model")
    parser.add_argument("--device", default="auto", help="part of a name `tflgpu devices` prints")
    arguments = parser.parse_args()
    labels = (HERE / "labels.txt").read_text().split()
    try:
        image = read_picture(arguments.picture)
        with tempfile.TemporaryDirectory() as temporary:
            cache = arguments.cache or Path(temporary)
            probabilities = classify(image, cache, arguments.device)
    except (tflgpu.TflgpuError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    best = int(probabilities.argmax())
    print(f"{labels[best]}  ({100 * probabilities[best]:.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
