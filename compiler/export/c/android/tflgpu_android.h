/* Android: memory that a camera, a decoder or another process fills, as an input or output of a
 * session without a copy. Needs API level 26; link with `nativewindow`. */
#ifndef TFLGPU_ANDROID_H
#define TFLGPU_ANDROID_H

#include "tflgpu.h"

#include <android/hardware_buffer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a hardware buffer one that tflgpu_bind_input and tflgpu_bind_output take.
 *
 * It has the format AHARDWAREBUFFER_FORMAT_BLOB, the usage AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER,
 * and at least the tensor's `buffer_size`, and stays the caller's. A session on OpenGL ES must use
 * the caller's context. The caller orders what runs here and what accesses the memory elsewhere. */
tflgpu_status tflgpu_import(tflgpu_session *session, AHardwareBuffer *memory, void **buffer,
                            tflgpu_error *error);

/* Releases what tflgpu_import has made, which must not be bound any more. */
tflgpu_status tflgpu_release(tflgpu_session *session, void *buffer, tflgpu_error *error);

#ifdef __cplusplus
}
#endif

#endif
