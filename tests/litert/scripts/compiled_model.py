"""LiteRT 2's interface: buffers in, buffers out."""

import sys

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel

model = CompiledModel.from_file(sys.argv[1] + "/regression.tflite")
key = model.get_signature_by_index(0)["key"]
print(model.get_num_signatures(), model.get_input_tensor_details(key))
inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
for value in (0.0, 1.0, 2.0):
    inputs[0].write(np.array([[value]], np.float32))
    model.run_by_index(0, inputs, outputs)
    print(outputs[0].read(1, np.float32))
