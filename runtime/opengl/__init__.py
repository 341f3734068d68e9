"""Running kernels in GLSL, on OpenGL ES 3.1 or OpenGL 4.3."""
