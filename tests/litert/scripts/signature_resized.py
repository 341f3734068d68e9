"""A signature that is called with more rows than the model has."""

import sys

import numpy as np
import tensorflow as tf

interpreter = tf.lite.Interpreter(model_path=sys.argv[1] + "/signatures.tflite")
far = interpreter.get_signature_runner("far")
for rows in (1, 3):
    left = np.arange(rows * 105, dtype=np.float32).reshape(rows, 5, 7, 3)
    result = far(left=left, right=np.ones_like(left))
    print({name: (value.shape, float(value.sum())) for name, value in result.items()})
