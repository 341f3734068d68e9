/* Imports Android's hardware buffers: the same file for every model. See tflgpu_android.h. */
#include "tflgpu_android.h"

#include "tflgpu_backend.h"

#include <string.h>

/* As in Khronos' headers, for extensions of Arm's and Qualcomm's drivers and of OpenGL ES. */
enum {
  CL_IMPORT_TYPE_ARM = 0x40B2,
  CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM = 0x41E2,
  CL_MEM_READ_WRITE = 1,
  CL_MEM_USE_HOST_PTR = 8,
  CL_MEM_EXT_HOST_PTR_QCOM = 1 << 29,
  CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM = 0x4119,
  CL_MEM_HOST_WRITEBACK_QCOM = 0x40A5,
  GL_SHADER_STORAGE_BUFFER = 0x90D2,
  /* Bits to read and write through a view that stays, and that sees what others write. */
  GL_MAP_BITS = 1 | 2 | 0x40 | 0x80
};

typedef struct qcom_host_ptr {
  uint32_t allocation_type, host_cache_policy;
  AHardwareBuffer *memory;
} qcom_host_ptr;

typedef void *(*import_arm)(void *, uint64_t, const intptr_t *, void *, size_t, int32_t *);
typedef void *(*create_buffer)(void *, uint64_t, size_t, void *, int32_t *);
typedef void *(*client_buffer)(const AHardwareBuffer *);
typedef void (*storage_external)(uint32_t, intptr_t, intptr_t, void *, uint32_t);
typedef void (*generate)(int32_t, uint32_t *);
typedef void (*bind_buffer)(uint32_t, uint32_t);
typedef uint32_t (*get_error)(void);

static tflgpu_status lacks(tflgpu_session *session, const char *extension, tflgpu_error *error) {
  return tflgpu_fail(error, TFLGPU_UNFIT_DEVICE, "%s cannot import hardware buffers: it lacks %s",
                     session->device.name, extension);
}

static tflgpu_status import_opencl(tflgpu_session *session, AHardwareBuffer *memory, size_t size,
                                   void **buffer, tflgpu_error *error) {
  static const intptr_t properties[] = {CL_IMPORT_TYPE_ARM,
                                        CL_IMPORT_TYPE_ANDROID_HARDWARE_BUFFER_ARM, 0};
  const tflgpu_backend *backend = session->model->backend;
  import_arm arm;
  create_buffer create;
  int32_t code = 0;
  tflgpu_find(session, "clImportMemoryARM", &arm);
  tflgpu_find(session, "clCreateBuffer", &create);
  if (arm && backend->has_extension(session, "cl_arm_import_memory_android_hardware_buffer")) {
    *buffer = arm(session->context, CL_MEM_READ_WRITE, properties, memory, SIZE_MAX, &code);
  } else if (create &&
             backend->has_extension(session, "cl_qcom_android_ahardwarebuffer_host_ptr")) {
    qcom_host_ptr from = {CL_MEM_ANDROID_AHARDWAREBUFFER_HOST_PTR_QCOM, CL_MEM_HOST_WRITEBACK_QCOM,
                          NULL};
    from.memory = memory;
    *buffer = create(session->context,
                     CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR | CL_MEM_EXT_HOST_PTR_QCOM, size,
                     &from, &code);
  } else {
    return lacks(session,
                 "cl_arm_import_memory_android_hardware_buffer and "
                 "cl_qcom_android_ahardwarebuffer_host_ptr",
                 error);
  }
  if (*buffer) return TFLGPU_OK;
  return tflgpu_fail(error, TFLGPU_DRIVER_ERROR,
                     "importing a hardware buffer failed with OpenCL's error %d", (int)code);
}

static tflgpu_status import_gles(tflgpu_session *session, AHardwareBuffer *memory, size_t size,
                                 void **buffer, tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  client_buffer client;
  storage_external storage;
  generate gen;
  bind_buffer bind;
  get_error last;
  uint32_t name = 0, code;
  if (!backend->has_extension(session, "GL_EXT_external_buffer"))
    return lacks(session, "GL_EXT_external_buffer", error);
  tflgpu_find(session, "eglGetNativeClientBufferANDROID", &client);
  tflgpu_find(session, "glBufferStorageExternalEXT", &storage);
  tflgpu_find(session, "glGenBuffers", &gen);
  tflgpu_find(session, "glBindBuffer", &bind);
  tflgpu_find(session, "glGetError", &last);
  if (!client || !storage || !gen || !bind || !last)
    return lacks(session, "EGL_ANDROID_get_native_client_buffer", error);
  gen(1, &name);
  bind(GL_SHADER_STORAGE_BUFFER, name);
  storage(GL_SHADER_STORAGE_BUFFER, 0, (intptr_t)size, client(memory), GL_MAP_BITS);
  *buffer = (void *)(uintptr_t)name;
  if (!(code = last())) return TFLGPU_OK;
  backend->release(session, *buffer);
  return tflgpu_fail(error, TFLGPU_DRIVER_ERROR,
                     "importing a hardware buffer failed with OpenGL's error 0x%04x",
                     (unsigned)code);
}

tflgpu_status tflgpu_import(tflgpu_session *session, AHardwareBuffer *memory, void **buffer,
                            tflgpu_error *error) {
  AHardwareBuffer_Desc described;
  tflgpu_status status;
  if (!session || !memory || !buffer)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the session, the hardware buffer or the place for the result is missing");
  AHardwareBuffer_describe(memory, &described);
  if (described.format != AHARDWAREBUFFER_FORMAT_BLOB)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the hardware buffer has format %u instead of AHARDWAREBUFFER_FORMAT_BLOB",
                       (unsigned)described.format);
  if ((status = tflgpu_enter(session, error))) return status;
  if (session->context)
    status = import_opencl(session, memory, described.width, buffer, error);
  else
    status = import_gles(session, memory, described.width, buffer, error);
  tflgpu_leave(session);
  return status;
}

tflgpu_status tflgpu_release(tflgpu_session *session, void *buffer, tflgpu_error *error) {
  tflgpu_status status = tflgpu_enter(session, error);
  if (status) return status;
  session->model->backend->release(session, buffer);
  tflgpu_leave(session);
  return TFLGPU_OK;
}
