/* A model on WebGPU in a program with OpenGL ES. Exits with 0 if what was current stays so. */
#include "net_model.h"

#include <stdio.h>
#include <string.h>

void *eglGetProcAddress(const char *);
unsigned eglInitialize(void *, int *, int *);
unsigned eglBindAPI(unsigned);
void *eglCreateContext(void *, void *, void *, const int *);
unsigned eglMakeCurrent(void *, void *, void *, void *);
void *eglGetCurrentContext(void);

enum { SURFACELESS = 0x31DD, OPENGL_ES = 0x30A0 };

int main(int count, char **words) {
  static const int version[] = {0x3098, 3, 0x3038};
  void *(*connect)(unsigned, void *, const intptr_t *), *display, *context;
  void *found = eglGetProcAddress("eglGetPlatformDisplay");
  tflgpu_options options;
  tflgpu_error error;
  tflgpu_session *session;
  memcpy(&connect, &found, sizeof found);
  display = connect(SURFACELESS, NULL, NULL);
  if (count != 2 || !eglInitialize(display, NULL, NULL) || !eglBindAPI(OPENGL_ES)) return 2;
  context = eglCreateContext(display, NULL, NULL, version);
  if (!eglMakeCurrent(display, NULL, NULL, context)) return 2;
  memset(&options, 0, sizeof options);
  options.device = words[1];
  session = tflgpu_open(&net_model, &options, &error);
  if (!session) {
    fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  tflgpu_close(session);
  return eglGetCurrentContext() != context;
}
