"""Classification of one image, as in the classic example."""

import argparse

import numpy as np
from PIL import Image
from tflite_runtime.interpreter import Interpreter

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--image", default="7.png")
parser.add_argument("--top-k", type=int, default=3)
args = parser.parse_args()

interpreter = Interpreter(model_path=f"{args.folder}/digits.tflite")
interpreter.allocate_tensors()
input_details = interpreter.get_input_details()
output_details = interpreter.get_output_details()
_, height, width, _ = input_details[0]["shape"]
picture = Image.open(f"{args.folder}/{args.image}").convert("L").resize((width, height))
data = np.expand_dims(np.array(picture, dtype=np.float32) / 255.0, axis=(0, 3))
interpreter.set_tensor(input_details[0]["index"], data)
interpreter.invoke()
results = np.squeeze(interpreter.get_tensor(output_details[0]["index"]))
for index in results.argsort()[-args.top_k :][::-1]:
    print(f"{results[index]:08.6f}: class {index}")
