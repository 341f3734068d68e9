"""A batch, with the output resized as well, which changes nothing."""

import sys

import numpy as np
import tensorflow as tf

interpreter = tf.lite.Interpreter(sys.argv[1] + "/batches.tflite")
inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
interpreter.resize_tensor_input(inputs[0]["index"], (8, 5))
interpreter.resize_tensor_input(outputs[0]["index"], (8, 3))
interpreter.allocate_tensors()
interpreter.set_tensor(inputs[0]["index"], np.linspace(-1, 1, 40, dtype=np.float32).reshape(8, 5))
interpreter.invoke()
print(interpreter.get_tensor(outputs[0]["index"]).argmax(axis=1))
