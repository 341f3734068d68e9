"""Pictures as inputs, and pictures of outputs: what `tflgpu run` reads and draws.

Input are pictures, arrays of outputs and the model's metadata; output are arrays for inputs, and
classes, boxes, masks or keypoints in words and drawn over the picture.
"""
