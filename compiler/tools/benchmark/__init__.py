"""Benchmarks: a compiled model against LiteRT, and each kernel against the device's roofline."""
