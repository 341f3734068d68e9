"""A delegate that may not be there, with TensorFlow's names."""

import sys

import numpy as np
import tensorflow as tf

try:
    delegates = [tf.lite.experimental.load_delegate("libvx_delegate.so")]
except (OSError, ValueError):
    delegates = None
interpreter = tf.lite.Interpreter(
    model_path=sys.argv[1] + "/regression.tflite", experimental_delegates=delegates, num_threads=1
)
interpreter.allocate_tensors()
interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.float32(1.5).reshape(1, 1))
interpreter.invoke()
print(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
