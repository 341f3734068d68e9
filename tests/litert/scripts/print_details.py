"""Everything that the details say, before and after allocation."""

import sys

from ai_edge_litert.interpreter import Interpreter

interpreter = Interpreter(sys.argv[1] + "/int8.tflite")
for _ in range(2):
    for details in (
        *interpreter.get_input_details(),
        *interpreter.get_output_details(),
        *interpreter.get_tensor_details()[:4],
    ):
        for key, value in details.items():
            print(key, value)
    interpreter.allocate_tensors()
print(interpreter.num_subgraphs(), interpreter.get_signature_list())
