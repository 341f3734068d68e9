"""Train a small network on scikit-learn's handwritten digits and write it as digits.tflite.

    python samples/digits/train.py

writes digits.tflite, labels.txt and images/0.png to 9.png beside this file, in about ten seconds,
the same network each time on the same numpy. Needs scikit-learn (for the images) and LiteRT (to
check the file). The digits are E. Alpaydin's and C. Kaynak's "Optical Recognition of Handwritten
Digits", UCI Machine Learning Repository, CC BY 4.0.
"""

from pathlib import Path

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from layers import Convolution, Dense, Layer, MaxPool, Residual, backward, emit, forward
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tflgpu.compiler.frontend.writer import write
from tflgpu.compiler.ir import Array, Graph, Tensor

HERE = Path(__file__).parent
SEED = 1
EPOCHS = 30
BATCH = 32
ENLARGE = 10  # Pixels per side that one pixel of a digit has in the PNG files.

Labels = NDArray[np.int64]


def network(generator: np.random.Generator) -> list[Layer]:
    """A separable convolution network with one residual block, about 8,000 weights."""
    return [
        Convolution("first", 3, (1, 16), generator),
        Residual(
            "residual",
            [
                Convolution("depthwise_1", 3, (16, 16), generator, depthwise=True),
                Convolution("pointwise_1", 1, (16, 16), generator),
            ],
        ),
        MaxPool("pool"),
        Convolution("depthwise_2", 3, (16, 16), generator, depthwise=True),
        Convolution("pointwise_2", 1, (16, 32), generator),
        Dense("scores", 4 * 4 * 32, 10, generator),
    ]


def softmax(scores: Array) -> Array:
    """Probabilities of the classes."""
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    shares: Array = powers / powers.sum(-1, keepdims=True)
    return shares


def train(layers: list[Layer], images: Array, labels: Labels, seed: int) -> None:
    """Adam on the cross entropy, with a step size that falls to zero."""
    generator = np.random.default_rng(seed)
    leaves = [leaf for layer in layers for leaf in layer.leaves()]
    moments = {
        (leaf.name, key): (np.zeros_like(value), np.zeros_like(value))
        for leaf in leaves
        for key, value in leaf.parameters.items()
    }
    steps = EPOCHS * (len(images) // BATCH)
    order = np.concatenate([generator.permutation(len(images)) for _ in range(EPOCHS)])
    for step in range(1, steps + 1):
        batch = order[(step - 1) * BATCH : step * BATCH]
        probabilities = softmax(forward(layers, images[batch]))
        probabilities[np.arange(BATCH), labels[batch]] -= 1
        backward(layers, probabilities / BATCH)
        rate = 0.003 * (1 - step / steps)
        for leaf in leaves:
            for key, gradient in leaf.gradients.items():
                mean, square = moments[leaf.name, key]
                mean += 0.1 * (gradient - mean)
                square += 0.001 * (gradient**2 - square)
                corrected = mean / (1 - 0.9**step)
                scale = np.sqrt(square / (1 - 0.999**step)) + 1e-8
                leaf.parameters[key] -= np.float32(rate) * corrected / scale


def export(layers: list[Layer]) -> Graph:
    """The trained network as a TFLite graph: image [1, 8, 8, 1] to probabilities [1, 10]."""
    graph = Graph("digits")
    image = tensor = Tensor("image", (1, 8, 8, 1))
    for layer in layers:
        tensor = layer.export(graph, tensor)
    result = emit(graph, "SOFTMAX", (tensor,), "probabilities", tensor.shape, beta=1.0)
    graph.inputs, graph.input_names = [image], [image.name]
    graph.outputs, graph.output_names = [result], [result.name]
    graph.verify()
    return graph


def litert_accuracy(model: bytes, images: Array, labels: Labels) -> float:
    """Share of the images that LiteRT, running the written file, puts in the right class."""
    interpreter = Interpreter(model_content=model)
    interpreter.allocate_tensors()
    source = interpreter.get_input_details()[0]["index"]
    result = interpreter.get_output_details()[0]["index"]
    right = 0
    for image, label in zip(images, labels, strict=True):
        interpreter.set_tensor(source, image[None])
        interpreter.invoke()
        right += int(interpreter.get_tensor(result).argmax() == label)
    return right / len(labels)


def save_pictures(images: Array, labels: Labels, folder: Path) -> None:
    """The first image of each class, enlarged, its values 0 to 1 as greys 0 to 255."""
    folder.mkdir(exist_ok=True)
    for label in range(10):
        digit = images[labels == label][0, :, :, 0]
        greys = np.rint(digit * 255).astype(np.uint8)
        pixels = greys.repeat(ENLARGE, 0).repeat(ENLARGE, 1)
        Image.fromarray(pixels).save(folder / f"{label}.png", optimize=True)


def main() -> None:
    """Train, write, and check the file against the network it came from."""
    digits = load_digits()
    images = (digits.images[..., None] / 16).astype(np.float32)
    images, held_out, labels, held_out_labels = train_test_split(
        images, digits.target, test_size=0.2, stratify=digits.target, random_state=SEED
    )
    layers = network(np.random.default_rng(SEED))
    train(layers, images, labels, SEED)
    accuracy = float((forward(layers, held_out).argmax(-1) == held_out_labels).mean())
    print(f"{len(held_out)} held-out digits, {accuracy:.2%} right")

    model = write(export(layers))
    (HERE / "digits.tflite").write_bytes(model)
    (HERE / "labels.txt").write_text("".join(f"{label}\n" for label in range(10)))
    save_pictures(held_out, held_out_labels, HERE / "images")
    print(f"digits.tflite, {len(model)} bytes")
    print(f"LiteRT running it: {litert_accuracy(model, held_out, held_out_labels):.2%} right")


if __name__ == "__main__":
    main()
