"""Audio in frames, with a state that the script carries from one to the next."""

import sys

import numpy as np
import tflite_runtime.interpreter as tflite

interpreter = tflite.Interpreter(model_path=sys.argv[1] + "/streaming.tflite")
interpreter.allocate_tensors()
inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
states = np.zeros(inputs[1]["shape"]).astype("float32")
audio = np.sin(np.arange(5 * 16) / 7).astype("float32")
for frame in range(5):
    block = np.reshape(audio[16 * frame : 16 * frame + 16], (1, -1))
    interpreter.set_tensor(inputs[0]["index"], block)
    interpreter.set_tensor(inputs[1]["index"], states)
    interpreter.invoke()
    heard = interpreter.get_tensor(outputs[0]["index"])
    states = interpreter.get_tensor(outputs[1]["index"])
    print(frame, heard[0, :3], states.sum())
