"""Compile a model into a cache folder, load it and run it once."""

import tempfile
from pathlib import Path

import numpy as np

import tflgpu

model = Path(__file__).parent / "digits" / "digits.tflite"
with tempfile.TemporaryDirectory() as cache:
    compiled = tflgpu.compile(model, cache)
    with tflgpu.load(compiled) as session:
        image = np.random.default_rng(7).random((1, 8, 8, 1), np.float32)
        out = session.run({"image": image})
print(out["probabilities"].round(3))
