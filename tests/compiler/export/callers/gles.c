/* A program's own OpenGL ES. */
#include "driver.h"
#include "net_model.h"

#include <string.h>

void *eglGetProcAddress(const char *);
void *eglGetDisplay(void *);
unsigned eglInitialize(void *, int *, int *);
unsigned eglBindAPI(unsigned);
unsigned eglChooseConfig(void *, const int *, void **, int, int *);
void *eglCreateContext(void *, void *, void *, const int *);
unsigned eglMakeCurrent(void *, void *, void *, void *);
unsigned eglDestroyContext(void *, void *);

enum {
  SHADER_STORAGE_BUFFER = 0x90D2,
  STREAM_COPY = 0x88E2,
  MAP_READ = 1,
  SYNC_FLUSH = 1,
  SURFACELESS = 0x31DD,
  INVALID_ENUM = 0x0500
};

#define FUNCTIONS(X)                                                         \
  X(void, GenBuffers, (int, uint32_t *))                                     \
  X(void, DeleteBuffers, (int, const uint32_t *))                            \
  X(void, BindBuffer, (uint32_t, uint32_t))                                  \
  X(void, BufferData, (uint32_t, intptr_t, const void *, uint32_t))          \
  X(void *, MapBufferRange, (uint32_t, intptr_t, intptr_t, uint32_t))        \
  X(unsigned char, UnmapBuffer, (uint32_t))                                  \
  X(void, Enable, (uint32_t))                                                \
  X(uint32_t, ClientWaitSync, (void *, uint32_t, uint64_t))                  \
  X(void, DeleteSync, (void *))
#define DECLARE(result, name, parameters) static result(*gl##name) parameters;
FUNCTIONS(DECLARE)

static void *display, *context;

int driver_open(const char *wanted, tflgpu_options *options) {
  static const int config_wanted[] = {0x3040, 0x40, 0x3033, 0, 0x3038};
  static const int version[] = {0x3098, 3, 0x30FB, 1, 0x3038};
  void *(*connect)(unsigned, void *, const intptr_t *), *config = NULL, *found;
  tflgpu_error error;
  tflgpu_session *own;
  int count = 0;
  found = eglGetProcAddress("eglGetPlatformDisplay");
  memcpy(&connect, &found, sizeof found);
  display = connect(SURFACELESS, NULL, NULL);
  if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(0x30A0)) return 0;
  eglChooseConfig(display, config_wanted, &config, 1, &count);
  context = eglCreateContext(display, config, NULL, version);
#define FIND(result, name, parameters)      \
  found = eglGetProcAddress("gl" #name);    \
  memcpy(&gl##name, &found, sizeof found);
  FUNCTIONS(FIND)

  /* Without a current context there is none to use. */
  options->current_context = 1;
  if (tflgpu_open(&net_model, options, &error) || !strstr(error.message, "is current on this thread"))
    return 0;
  if (!eglMakeCurrent(display, NULL, NULL, context)) return 0;

  /* A session with a context of its own takes no buffers and returns no fences. */
  options->current_context = 0;
  options->device = wanted;
  own = tflgpu_open(&net_model, options, &error);
  found = driver_buffer((size_t)net_model.inputs[0].buffer_size, NULL);
  if (!own || tflgpu_bind_input(own, 0, found, &error) != TFLGPU_INVALID_ARGUMENT ||
      !strstr(error.message, "has a context of its own"))
    return 0;
  driver_release(found);
  tflgpu_close(own);
  options->current_context = 1;
  options->device = NULL;
  glEnable(INVALID_ENUM); /* an error of the program, before a call */
  return 1;
}

void *driver_buffer(size_t size, const void *content) {
  uint32_t name = 0;
  glGenBuffers(1, &name);
  glBindBuffer(SHADER_STORAGE_BUFFER, name);
  glBufferData(SHADER_STORAGE_BUFFER, (intptr_t)size, content, STREAM_COPY);
  return (void *)(uintptr_t)name;
}

void driver_read(void *buffer, void *to, size_t size) {
  glBindBuffer(SHADER_STORAGE_BUFFER, (uint32_t)(uintptr_t)buffer);
  memcpy(to, glMapBufferRange(SHADER_STORAGE_BUFFER, 0, (intptr_t)size, MAP_READ), size);
  glUnmapBuffer(SHADER_STORAGE_BUFFER);
}

void driver_release(void *buffer) {
  const uint32_t name = (uint32_t)(uintptr_t)buffer;
  glDeleteBuffers(1, &name);
}

void driver_wait(void *done) {
  glClientWaitSync(done, SYNC_FLUSH, UINT64_MAX);
  glDeleteSync(done);
}

void driver_close(void) {
  eglMakeCurrent(display, NULL, NULL, NULL);
  eglDestroyContext(display, context);
}
