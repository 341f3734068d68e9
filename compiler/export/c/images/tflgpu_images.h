/* OpenGL ES: pictures that a camera, a decoder or a renderer has made, as inputs of a session. They
 * are copied on the device, and never to the host. */
#ifndef TFLGPU_IMAGES_H
#define TFLGPU_IMAGES_H

#include "tflgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Copies level 0 of a two-dimensional texture into the buffer that tflgpu_bind_input has made an
 * input, so that the next run reads it.
 *
 * The input is a picture of the format `rgba8`: uint8, with the shape [1, height, width, 4]. The
 * texture has the same width and height, a color format of 8 bits a channel that OpenGL ES can
 * render to, and its first row in memory is the first row of the picture. The session was opened
 * with options.current_context, in which the texture lives; bindings of the caller stay. */
tflgpu_status tflgpu_copy_texture(tflgpu_session *session, uint32_t input, uint32_t texture,
                                  tflgpu_error *error);

/* The same for an EGLImage, such as eglCreateImageKHR makes of a hardware buffer of Android or of a
 * dma-buf. Needs GL_OES_EGL_image. An image in a format of cameras, which only a sampler of type
 * samplerExternalOES reads, must be drawn into a texture first. */
tflgpu_status tflgpu_copy_egl_image(tflgpu_session *session, uint32_t input, void *image,
                                    tflgpu_error *error);

#ifdef __cplusplus
}
#endif

#endif
