"""The .tflite file: read into graphs, and written from them."""
