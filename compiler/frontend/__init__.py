"""The frontend: reads .tflite files into graphs, and writes graphs as .tflite files."""
