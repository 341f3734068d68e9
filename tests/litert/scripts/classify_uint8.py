"""A quantized classifier, whose integers the script scales itself."""

import sys

import numpy as np
import tflite_runtime.interpreter as tflite


def quantize(details, values):
    scale, zero_point = details["quantization"]
    return np.clip(np.round(values / scale + zero_point), 0, 255).astype(details["dtype"])


def dequantize(details, values):
    scale, zero_point = details["quantization"]
    return scale * (values.astype(np.float32) - zero_point)


interpreter = tflite.Interpreter(model_path=sys.argv[1] + "/uint8.tflite")
interpreter.allocate_tensors()
given, found = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
print(given["dtype"].__name__, given["quantization"], found["quantization_parameters"]["scales"])
values = np.random.default_rng(1).uniform(-3, 3, given["shape"])
interpreter.set_tensor(given["index"], quantize(given, values))
interpreter.invoke()
print(dequantize(found, interpreter.get_tensor(found["index"])).round(4))
