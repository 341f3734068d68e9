/* Textures and EGL images as inputs of a model whose input 0 is a picture of the format rgba8 and
 * input 1 is not. Exits with 0 if all is as tflgpu_images.h says. */
#include "driver.h"
#include "net_model.h"
#include "tflgpu_images.h"

#include <stdio.h>
#include <string.h>

void *eglGetProcAddress(const char *);
void *eglGetCurrentContext(void);
void *eglGetCurrentDisplay(void);

enum {
  BYTES = 4 * WIDTH * HEIGHT,
  IMAGE_OF_TEXTURE = 0x30B1,
  PACK_ROW_LENGTH = 0x0D02,
  RGBA = 0x1908,
  RGBA8 = 0x8058,
  TEXTURE_2D = 0x0DE1,
  TEXTURE_3D = 0x806F,
  TEXTURE_BINDING = 0x8069,
  UNSIGNED_BYTE = 0x1401
};

#define FUNCTIONS(X)                                                                            \
  X(void *, egl, CreateImageKHR, (void *, void *, unsigned, void *, const int *))               \
  X(unsigned, egl, DestroyImageKHR, (void *, void *))                                           \
  X(void, gl, GenTextures, (int, uint32_t *))                                                   \
  X(void, gl, DeleteTextures, (int, const uint32_t *))                                          \
  X(void, gl, BindTexture, (uint32_t, uint32_t))                                                \
  X(void, gl, TexStorage2D, (uint32_t, int, uint32_t, int, int))                                \
  X(void, gl, TexSubImage2D,                                                                    \
    (uint32_t, int, int, int, int, int, uint32_t, uint32_t, const void *))                      \
  X(void, gl, GetIntegerv, (uint32_t, int *))                                                   \
  X(void, gl, PixelStorei, (uint32_t, int))
#define DECLARE(result, api, name, parameters) static result(*name) parameters;
FUNCTIONS(DECLARE)

static tflgpu_error error;

static void find_functions(void) {
  void *found;
#define FIND(result, api, name, parameters)     \
  found = eglGetProcAddress(#api #name);        \
  memcpy(&name, &found, sizeof found);
  FUNCTIONS(FIND)
}

/* A picture with other pixels for each `seed`. */
static const unsigned char *pixels(unsigned seed) {
  static unsigned char bytes[BYTES];
  unsigned i;
  for (i = 0; i < BYTES; i++) bytes[i] = (unsigned char)(i * 37 + seed * 91 + i / 13);
  return bytes;
}

static uint32_t texture(int width, int height, const void *content) {
  uint32_t name = 0;
  GenTextures(1, &name);
  BindTexture(TEXTURE_2D, name);
  TexStorage2D(TEXTURE_2D, 1, RGBA8, width, height);
  if (content)
    TexSubImage2D(TEXTURE_2D, 0, 0, 0, width, height, RGBA, UNSIGNED_BYTE, content);
  BindTexture(TEXTURE_2D, 0);
  return name;
}

static int refused(tflgpu_session *session, uint32_t input, uint32_t name, const char *reason) {
  return tflgpu_copy_texture(session, input, name, &error) == TFLGPU_INVALID_ARGUMENT &&
         strstr(error.message, reason);
}

int main(int count, char **words) {
  static float other[16], wanted[2][3 * WIDTH * HEIGHT], found[3 * WIDTH * HEIGHT];
  static char guarded[BYTES + 64];
  const void *inputs[2], *none[2];
  void *outputs[2], *buffer, *image;
  uint32_t texture_0, texture_1, small, volume, i;
  tflgpu_options options;
  tflgpu_session *session;
  int before = 0;
  memset(&options, 0, sizeof options);
  if (count != 2 || !driver_open(words[1], &options)) return 2;
  find_functions();
  EXPECT((session = tflgpu_open(&net_model, &options, &error)) != NULL);
  inputs[1] = none[1] = other;
  none[0] = outputs[1] = NULL;
  for (i = 0; i < 2; i++) {
    inputs[0] = pixels(i);
    outputs[0] = wanted[i];
    EXPECT(!tflgpu_run(session, inputs, outputs, &error));
  }
  EXPECT(memcmp(wanted[0], wanted[1], sizeof found));
  outputs[0] = found;
  texture_0 = texture(WIDTH, HEIGHT, pixels(0));
  texture_1 = texture(WIDTH, HEIGHT, pixels(1));
  small = texture(WIDTH - 1, HEIGHT, NULL);
  GenTextures(1, &volume);
  BindTexture(TEXTURE_3D, volume);

  EXPECT(refused(session, 0, texture_0, "is not bound to a buffer"));
  memset(guarded, 0x5A, sizeof guarded);
  buffer = driver_buffer(sizeof guarded, guarded);
  EXPECT(!tflgpu_bind_input(session, 0, buffer, &error));

  /* Settings of the program neither matter nor change. */
  PixelStorei(PACK_ROW_LENGTH, 977);
  BindTexture(TEXTURE_2D, small);
  EXPECT(!tflgpu_copy_texture(session, 0, texture_0, &error));
  EXPECT(!tflgpu_run(session, none, outputs, &error));
  EXPECT(!memcmp(found, wanted[0], sizeof found));
  GetIntegerv(PACK_ROW_LENGTH, &before);
  EXPECT(before == 977);
  GetIntegerv(TEXTURE_BINDING, &before);
  EXPECT((uint32_t)before == small);

  image = CreateImageKHR(eglGetCurrentDisplay(), eglGetCurrentContext(), IMAGE_OF_TEXTURE,
                         (void *)(uintptr_t)texture_1, NULL);
  EXPECT(image);
  EXPECT(!tflgpu_copy_egl_image(session, 0, image, &error));
  EXPECT(!tflgpu_run(session, none, outputs, &error));
  EXPECT(!memcmp(found, wanted[1], sizeof found));
  driver_read(buffer, guarded, sizeof guarded);
  EXPECT(!memcmp(guarded, pixels(1), BYTES));
  for (i = BYTES; i < sizeof guarded; i++) EXPECT(guarded[i] == 0x5A);

  EXPECT(refused(session, 0, small, "pixels, but input"));
  EXPECT(refused(session, 0, volume, "is not two-dimensional"));
  EXPECT(refused(session, 0, 999, "has no texture 999"));
  EXPECT(refused(session, 0, 0, "the picture is missing"));
  EXPECT(refused(session, 1, texture_0, "is no picture of four bytes a pixel"));
  EXPECT(refused(session, 2, texture_0, "has no input 2"));
  EXPECT(tflgpu_copy_egl_image(session, 0, &before, &error) == TFLGPU_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "no two-dimensional texture of this EGL image"));
  EXPECT(!tflgpu_run(session, none, outputs, &error));
  EXPECT(!memcmp(found, wanted[1], sizeof found));

  tflgpu_close(session);
  DestroyImageKHR(eglGetCurrentDisplay(), image);
  DeleteTextures(1, &texture_0);
  DeleteTextures(1, &texture_1);
  DeleteTextures(1, &small);
  DeleteTextures(1, &volume);
  driver_release(buffer);
  driver_close();
  return 0;
}
