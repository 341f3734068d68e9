"""An image that the model enlarges."""

import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter
from PIL import Image

interpreter = Interpreter(sys.argv[1] + "/upscale.tflite")
interpreter.allocate_tensors()
picture = Image.open(sys.argv[1] + "/3.png").convert("L").resize((8, 8))
pixels = np.asarray(picture, np.float32)[np.newaxis, ..., np.newaxis] / 255
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], pixels)
interpreter.invoke()
large = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
print(large.shape, large.mean(), large[0, 2, :, 0].round(3))
