/* A program's own OpenCL. */
#include "driver.h"

#include <string.h>

int clGetPlatformIDs(uint32_t, void **, uint32_t *);
int clGetPlatformInfo(void *, uint32_t, size_t, void *, size_t *);
int clGetDeviceIDs(void *, uint64_t, uint32_t, void **, uint32_t *);
void *clCreateContext(const intptr_t *, uint32_t, void *const *, void *, void *, int *);
void *clCreateCommandQueue(void *, void *, uint64_t, int *);
void *clCreateBuffer(void *, uint64_t, size_t, void *, int *);
int clEnqueueReadBuffer(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *, void *);
int clWaitForEvents(uint32_t, void *const *);
int clReleaseEvent(void *);
int clReleaseMemObject(void *);
int clReleaseCommandQueue(void *);
int clReleaseContext(void *);

enum { PLATFORM_NAME = 0x0902, OUT_OF_ORDER = 1, READ_WRITE = 1, COPY = 32 };

static void *context, *queue;

int driver_open(const char *wanted, tflgpu_options *options) {
  void *platforms[8], *device = NULL, *unordered;
  tflgpu_error error;
  char name[256];
  uint32_t count = 0, i;
  clGetPlatformIDs(8, platforms, &count);
  for (i = 0; i < count; i++) {
    clGetPlatformInfo(platforms[i], PLATFORM_NAME, sizeof name, name, NULL);
    if (strstr(name, wanted)) clGetDeviceIDs(platforms[i], 0xFFFFFFFFu, 1, &device, NULL);
  }
  if (!device) return 0;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  queue = clCreateCommandQueue(context, device, 0, NULL);
  /* A queue without an order is refused, if the driver makes one. */
  unordered = clCreateCommandQueue(context, device, OUT_OF_ORDER, NULL);
  if (unordered) {
    extern const tflgpu_model net_model;
    options->cl_queue = unordered;
    if (tflgpu_open(&net_model, options, &error) || !strstr(error.message, "runs commands in any order"))
      return 0;
    clReleaseCommandQueue(unordered);
  }
  options->cl_queue = queue;
  return queue != NULL;
}

void *driver_buffer(size_t size, const void *content) {
  uint64_t flags = content ? READ_WRITE | COPY : READ_WRITE;
  return clCreateBuffer(context, flags, size, (void *)(uintptr_t)content, NULL);
}

void driver_read(void *buffer, void *to, size_t size) {
  clEnqueueReadBuffer(queue, buffer, 1, 0, size, to, 0, NULL, NULL);
}

void driver_release(void *buffer) { clReleaseMemObject(buffer); }

void driver_wait(void *done) {
  clWaitForEvents(1, &done);
  clReleaseEvent(done);
}

void driver_close(void) {
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
}
