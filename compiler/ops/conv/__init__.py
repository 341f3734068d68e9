"""Convolutions: plain, depthwise and transposed ones, also by Winograd's algorithm."""
