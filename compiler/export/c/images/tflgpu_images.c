/* Copies textures and EGL images into inputs: the same file for every model. See tflgpu_images.h.
 *
 * OpenGL ES has one copy from a texture to a buffer on the device: reading the pixels of a
 * framebuffer while a buffer is bound for packed pixels. */
#include "tflgpu_images.h"

#include "tflgpu_backend.h"

/* As in Khronos' headers. */
enum {
  GL_COLOR_ATTACHMENT0 = 0x8CE0,
  GL_FRAMEBUFFER_COMPLETE = 0x8CD5,
  GL_PACK_ALIGNMENT = 0x0D05,
  GL_PACK_ROW_LENGTH = 0x0D02,
  GL_PACK_SKIP_PIXELS = 0x0D04,
  GL_PACK_SKIP_ROWS = 0x0D03,
  GL_PIXEL_PACK_BUFFER = 0x88EB,
  GL_PIXEL_PACK_BUFFER_BINDING = 0x88ED,
  GL_READ_FRAMEBUFFER = 0x8CA8,
  GL_READ_FRAMEBUFFER_BINDING = 0x8CAA,
  GL_RGBA = 0x1908,
  GL_TEXTURE_2D = 0x0DE1,
  GL_TEXTURE_BINDING_2D = 0x8069,
  GL_TEXTURE_HEIGHT = 0x1001,
  GL_TEXTURE_WIDTH = 0x1000,
  GL_UNSIGNED_BYTE = 0x1401
};

/* X(result, name without gl, parameters) */
#define FUNCTIONS(X)                                                                   \
  X(uint32_t, GetError, (void))                                                        \
  X(void, GetIntegerv, (uint32_t, int32_t *))                                          \
  X(void, GenTextures, (int32_t, uint32_t *))                                          \
  X(unsigned char, IsTexture, (uint32_t))                                              \
  X(void, BindTexture, (uint32_t, uint32_t))                                           \
  X(void, GetTexLevelParameteriv, (uint32_t, int32_t, uint32_t, int32_t *))            \
  X(void, DeleteTextures, (int32_t, const uint32_t *))                                 \
  X(void, GenFramebuffers, (int32_t, uint32_t *))                                      \
  X(void, BindFramebuffer, (uint32_t, uint32_t))                                       \
  X(void, FramebufferTexture2D, (uint32_t, uint32_t, uint32_t, uint32_t, int32_t))     \
  X(uint32_t, CheckFramebufferStatus, (uint32_t))                                      \
  X(void, DeleteFramebuffers, (int32_t, const uint32_t *))                             \
  X(void, BindBuffer, (uint32_t, uint32_t))                                            \
  X(void, PixelStorei, (uint32_t, int32_t))                                            \
  X(void, ReadPixels, (int32_t, int32_t, int32_t, int32_t, uint32_t, uint32_t, void *))

typedef struct driver {
  FUNCTIONS(TFLGPU_MEMBER)
} driver;

typedef void(TFLGPU_CALL *image_target)(uint32_t, void *);

/* Settings of the caller that reading pixels depends on, and the values it needs. */
enum { PACKED = 4 };
static const struct {
  uint32_t name;
  int32_t value;
} packed[PACKED] = {{GL_PACK_ALIGNMENT, 4},
                    {GL_PACK_ROW_LENGTH, 0},
                    {GL_PACK_SKIP_PIXELS, 0},
                    {GL_PACK_SKIP_ROWS, 0}};

static tflgpu_status find_functions(tflgpu_session *session, driver *gl, tflgpu_error *error) {
  const char *missing = NULL;
#define FIND(result, name, parameters)               \
  tflgpu_find(session, "gl" #name, &gl->name); \
  if (!gl->name) missing = "gl" #name;
  FUNCTIONS(FIND)
#undef FIND
  if (!missing) return TFLGPU_OK;
  return tflgpu_fail(error, TFLGPU_NO_DRIVER, "the OpenGL driver has no %s", missing);
}

/* Whether an input is a picture in a buffer of the caller that pixels can be written to. */
static tflgpu_status check_input(tflgpu_session *session, uint32_t input, void **buffer,
                                 tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  const tflgpu_tensor *tensor;
  uint64_t size;
  size_t place;
  if (input >= model->input_count)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "%s has no input %lu", model->name,
                       (unsigned long)input);
  tensor = &model->inputs[input];
  if (tensor->type != TFLGPU_UINT8 || tensor->rank != 4 || tensor->shape[0] != 1 ||
      tensor->shape[3] != 4)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "input %s is no picture of four bytes a pixel; compile the model with "
                       "--input-format %s=rgba8",
                       tensor->name, tensor->name);
  place = tflgpu_place(model, TFLGPU_INPUT, input);
  if (session->buffers[place] == session->own[place])
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "input %s is not bound to a buffer; call tflgpu_bind_input first",
                       tensor->name);
  *buffer = session->buffers[place];
  return model->backend->size(session, *buffer, &size, error);
}

static tflgpu_status check_size(const driver *gl, const tflgpu_tensor *tensor,
                                tflgpu_error *error) {
  int32_t width = 0, height = 0;
  gl->GetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_WIDTH, &width);
  gl->GetTexLevelParameteriv(GL_TEXTURE_2D, 0, GL_TEXTURE_HEIGHT, &height);
  if ((uint32_t)width == tensor->shape[2] && (uint32_t)height == tensor->shape[1])
    return TFLGPU_OK;
  return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                     "the picture has %ld x %ld pixels, but input %s has %lu x %lu", (long)width,
                     (long)height, tensor->name, (unsigned long)tensor->shape[2],
                     (unsigned long)tensor->shape[1]);
}

static tflgpu_status read_pixels(const driver *gl, const tflgpu_tensor *tensor, uint32_t texture,
                                 tflgpu_error *error) {
  uint32_t code;
  gl->FramebufferTexture2D(GL_READ_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, texture, 0);
  code = gl->CheckFramebufferStatus(GL_READ_FRAMEBUFFER);
  if (code != GL_FRAMEBUFFER_COMPLETE)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the driver cannot render to this format of pixels (status 0x%04x); draw "
                       "the picture into a texture of the format GL_RGBA8",
                       (unsigned)code);
  gl->ReadPixels(0, 0, (int32_t)tensor->shape[2], (int32_t)tensor->shape[1], GL_RGBA,
                 GL_UNSIGNED_BYTE, NULL);
  if (!(code = gl->GetError())) return TFLGPU_OK;
  return tflgpu_fail(error, TFLGPU_DRIVER_ERROR,
                     "copying a picture failed with OpenGL's error 0x%04x", (unsigned)code);
}

/* Copies the texture that is bound into a buffer, by way of a framebuffer. */
static tflgpu_status copy_bound(const driver *gl, const tflgpu_tensor *tensor, uint32_t texture,
                                uint32_t buffer, tflgpu_error *error) {
  tflgpu_status status = check_size(gl, tensor, error);
  int32_t before[PACKED], framebuffer = 0, pack = 0;
  uint32_t own = 0, i;
  if (status) return status;
  gl->GetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &framebuffer);
  gl->GetIntegerv(GL_PIXEL_PACK_BUFFER_BINDING, &pack);
  for (i = 0; i < PACKED; i++) {
    gl->GetIntegerv(packed[i].name, &before[i]);
    gl->PixelStorei(packed[i].name, packed[i].value);
  }
  gl->GenFramebuffers(1, &own);
  gl->BindFramebuffer(GL_READ_FRAMEBUFFER, own);
  gl->BindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
  status = read_pixels(gl, tensor, texture, error);
  gl->BindBuffer(GL_PIXEL_PACK_BUFFER, (uint32_t)pack);
  gl->BindFramebuffer(GL_READ_FRAMEBUFFER, (uint32_t)framebuffer);
  gl->DeleteFramebuffers(1, &own);
  for (i = 0; i < PACKED; i++) gl->PixelStorei(packed[i].name, before[i]);
  return status;
}

/* With the functions of the driver: copies a texture, or an image that becomes one. */
static tflgpu_status copy(tflgpu_session *session, uint32_t input, uint32_t texture, void *image,
                          tflgpu_error *error) {
  driver gl;
  image_target set_image = NULL;
  void *buffer = NULL;
  int32_t before = 0;
  uint32_t own = 0;
  tflgpu_status status = find_functions(session, &gl, error);
  if (status || (status = check_input(session, input, &buffer, error))) return status;
  if (image) {
    if (session->model->backend->has_extension(session, "GL_OES_EGL_image"))
      tflgpu_find(session, "glEGLImageTargetTexture2DOES", &set_image);
    if (!set_image)
      return tflgpu_fail(error, TFLGPU_UNFIT_DEVICE,
                         "%s cannot read EGL images: it lacks GL_OES_EGL_image",
                         session->device.name);
    gl.GenTextures(1, &own);
    texture = own;
  } else if (!gl.IsTexture(texture)) {
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "the current context has no texture %lu",
                       (unsigned long)texture);
  }
  gl.GetIntegerv(GL_TEXTURE_BINDING_2D, &before);
  gl.BindTexture(GL_TEXTURE_2D, texture);
  if (image) set_image(GL_TEXTURE_2D, image);
  if (gl.GetError())
    status = tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                         image ? "the driver makes no two-dimensional texture of this EGL image"
                               : "the texture is not two-dimensional");
  else
    status = copy_bound(&gl, &session->model->inputs[input], texture, (uint32_t)(uintptr_t)buffer,
                        error);
  gl.BindTexture(GL_TEXTURE_2D, (uint32_t)before);
  if (own) gl.DeleteTextures(1, &own);
  return status;
}

static tflgpu_status entered(tflgpu_session *session, uint32_t input, uint32_t texture, void *image,
                             tflgpu_error *error) {
  tflgpu_status status;
  if (!session || (!texture && !image))
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "the session or the picture is missing");
  if ((status = tflgpu_enter(session, error))) return status;
  if (session->context)
    status = tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                         "%s was compiled for OpenCL, which reads no textures of OpenGL ES",
                         session->model->name);
  else
    status = copy(session, input, texture, image, error);
  tflgpu_leave(session);
  return status;
}

tflgpu_status tflgpu_copy_texture(tflgpu_session *session, uint32_t input, uint32_t texture,
                                  tflgpu_error *error) {
  return entered(session, input, texture, NULL, error);
}

tflgpu_status tflgpu_copy_egl_image(tflgpu_session *session, uint32_t input, void *image,
                                    tflgpu_error *error) {
  return entered(session, input, 0, image, error);
}
