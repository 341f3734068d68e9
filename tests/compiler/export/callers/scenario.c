/* Runs a model on buffers and a context of the program: scenario DEVICE. Exits with 0 if all is as
 * tflgpu.h says, else with 1 and one line about what is not. */
#include "driver.h"
#include "net_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 4096

static tflgpu_error error;

/* A buffer of the tensor's size followed by guards, which starts with `content`. */
static void *guarded(const tflgpu_tensor *tensor, const void *content) {
  size_t size = (size_t)tensor->buffer_size;
  char *bytes = (char *)malloc(size + GUARD);
  void *buffer;
  memset(bytes, 0xA5, size + GUARD);
  if (content) memcpy(bytes, content, (size_t)tflgpu_byte_size(tensor));
  buffer = driver_buffer(size + GUARD, bytes);
  free(bytes);
  return buffer;
}

/* Whether a buffer begins with `content` and its guards are untouched. */
static int holds(const tflgpu_tensor *tensor, void *buffer, const void *content) {
  size_t size = (size_t)tensor->buffer_size, i;
  unsigned char *bytes = (unsigned char *)malloc(size + GUARD);
  int good;
  driver_read(buffer, bytes, size + GUARD);
  good = !memcmp(bytes, content, (size_t)tflgpu_byte_size(tensor));
  for (i = size; i < size + GUARD; i++) good = good && bytes[i] == 0xA5;
  free(bytes);
  return good;
}

int main(int count, char **words) {
  const tflgpu_tensor *in = &net_model.inputs[0], *out = &net_model.outputs[0];
  float *image = (float *)calloc(1, (size_t)tflgpu_byte_size(in));
  float *wanted = (float *)calloc(1, (size_t)tflgpu_byte_size(out));
  float *found = (float *)calloc(1, (size_t)tflgpu_byte_size(out));
  const void *inputs[1] = {image}, *none[1] = {NULL};
  void *outputs[1], *input, *output, *small, *done;
  tflgpu_options options;
  tflgpu_session *session;
  uint64_t i;
  memset(&options, 0, sizeof options);
  if (count != 2 || !driver_open(words[1], &options)) return 2;
  for (i = 0; i < in->elements; i++) image[i] = (float)(i % 7) / 7;
  EXPECT((session = tflgpu_open(&net_model, &options, &error)) != NULL);
  EXPECT(strlen(tflgpu_device_name(session)) > 0);
  outputs[0] = wanted;
  EXPECT(!tflgpu_run(session, inputs, outputs, &error));

  /* Buffers of the caller, with an event. */
  input = guarded(in, image);
  output = guarded(out, NULL);
  EXPECT(!tflgpu_bind_input(session, 0, input, &error));
  EXPECT(!tflgpu_bind_output(session, 0, output, &error));
  EXPECT(!tflgpu_enqueue(session, none, &done, &error));
  driver_wait(done);
  EXPECT(holds(out, output, wanted));
  EXPECT(holds(in, input, image));
  outputs[0] = found;
  EXPECT(!tflgpu_run(session, NULL, outputs, &error));
  EXPECT(!memcmp(found, wanted, (size_t)tflgpu_byte_size(out)));

  /* What is refused, with the session as it was. */
  EXPECT(tflgpu_run(session, inputs, outputs, &error) == TFLGPU_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "is bound to a buffer, so its array must be NULL"));
  small = driver_buffer((size_t)out->buffer_size - 4, NULL);
  EXPECT(tflgpu_bind_output(session, 0, small, &error) == TFLGPU_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "bytes, but needs"));
  EXPECT(tflgpu_bind_input(session, 1, input, &error) == TFLGPU_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "has no input 1"));
  EXPECT(!tflgpu_run(session, NULL, NULL, &error));
  EXPECT(holds(out, output, wanted));

  /* The session's own buffers again; two runs, of which the last one's results are copied. */
  EXPECT(!tflgpu_bind_input(session, 0, NULL, &error));
  EXPECT(!tflgpu_bind_output(session, 0, NULL, &error));
  EXPECT(tflgpu_run(session, none, outputs, &error) == TFLGPU_INVALID_ARGUMENT);
  EXPECT(strstr(error.message, "is missing"));
  image[0] = 100;
  EXPECT(!tflgpu_enqueue(session, inputs, NULL, &error));
  EXPECT(!tflgpu_finish(session, outputs, &error));
  EXPECT(memcmp(found, wanted, (size_t)tflgpu_byte_size(out)));
  EXPECT(!tflgpu_enqueue(session, inputs, NULL, &error));
  EXPECT(!tflgpu_finish(session, NULL, &error));
  image[0] = 0;
  EXPECT(!tflgpu_enqueue(session, inputs, NULL, &error));
  EXPECT(!tflgpu_finish(session, outputs, &error));
  EXPECT(!memcmp(found, wanted, (size_t)tflgpu_byte_size(out)));
  EXPECT(!tflgpu_reset(session, &error));
  EXPECT(tflgpu_run(NULL, inputs, outputs, &error) == TFLGPU_INVALID_ARGUMENT);

  tflgpu_close(session);
  /* The context is still the caller's. */
  EXPECT(holds(out, output, wanted));
  driver_release(input);
  driver_release(output);
  driver_release(small);
  driver_close();
  free(image);
  free(wanted);
  free(found);
  return 0;
}
