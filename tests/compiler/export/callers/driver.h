/* What a program with a context and buffers of its own does with its driver. */
#ifndef DRIVER_H
#define DRIVER_H

#include "tflgpu.h"

#include <stdio.h>

/* Opens a device with this text in its version, and says so in the options. */
int driver_open(const char *device, tflgpu_options *options);
void *driver_buffer(size_t size, const void *content);
void driver_read(void *buffer, void *to, size_t size);
void driver_release(void *buffer);
void driver_wait(void *done); /* and releases it */
void driver_close(void);

/* Ends `main` with 1 unless a condition holds, with a line that has the message of `error`. */
#define EXPECT(condition)                                                                   \
  do {                                                                                      \
    if (!(condition)) {                                                                     \
      fprintf(stderr, "line %d: %s is not so (%s)\n", __LINE__, #condition, error.message); \
      return 1;                                                                             \
    }                                                                                       \
  } while (0)

#endif
