"""LiteRT 2's interface, with signatures by name and memory of the script's own."""

import sys

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel

with CompiledModel.from_file(sys.argv[1] + "/signatures.tflite") as model:
    for key, names in model.get_signature_list().items():
        inputs = {name: model.create_input_buffer_by_name(key, name) for name in names["inputs"]}
        outputs = {name: model.create_output_buffer_by_name(key, name) for name in names["outputs"]}
        for place, buffer in enumerate(inputs.values()):
            buffer.write(np.linspace(0, place + 1, 105, dtype=np.float32))
        model.run_by_name(key, inputs, outputs)
        for name, buffer in outputs.items():
            print(key, name, buffer.get_tensor_details(), buffer.read(105, np.float32)[50:53])
