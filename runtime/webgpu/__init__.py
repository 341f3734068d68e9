"""Running kernels in WGSL on WebGPU, through PyPI's wgpu."""
