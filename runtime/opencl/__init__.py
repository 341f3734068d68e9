"""Running kernels in OpenCL C."""
