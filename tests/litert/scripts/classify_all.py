"""Classification of several images with one interpreter."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

interpreter = Interpreter(sys.argv[1] + "/digits.tflite", num_threads=2)
interpreter.allocate_tensors()
image, probabilities = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
for label in range(10):
    picture = Image.open(f"{sys.argv[1]}/{label}.png").convert("L").resize((8, 8))
    pixels = np.asarray(picture, np.float32)[None, :, :, None] / 255
    interpreter.set_tensor(image["index"], pixels)
    interpreter.invoke()
    found = interpreter.get_tensor(probabilities["index"])[0]
    print(label, int(found.argmax()), found.max().round(4))
