"""What an application does: the model is compiled before it ships, and loaded once at its start.

    tflgpu-compile samples/digits/digits.tflite -o cache/
    python samples/load_at_start.py cache/

Loading imports no compiler. The first start on a machine builds the kernels for its device and
keeps the binaries beside them; later starts take those.
"""

import sys

import numpy as np

import tflgpu

session = tflgpu.load(sys.argv[1])
frames = np.random.default_rng(7).random((5, 1, 8, 8, 1), np.float32)
for frame in frames:
    print(session.run({"image": frame})["probabilities"].argmax())
session.close()
