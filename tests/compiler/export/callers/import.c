/* import DEVICE: what becomes of hardware buffers on drivers that cannot import them. Exits with 0
 * if each refusal is as it should be. */
#include "net_model.h"
#include "tflgpu_android.h"

#include <stdio.h>
#include <string.h>

static uint32_t format = 1;

void AHardwareBuffer_describe(const AHardwareBuffer *memory, AHardwareBuffer_Desc *described) {
  (void)memory;
  memset(described, 0, sizeof *described);
  described->width = 4096;
  described->format = format;
}

int main(int count, char **words) {
  AHardwareBuffer *memory = (AHardwareBuffer *)&format;
  tflgpu_options options;
  tflgpu_error error;
  tflgpu_session *session;
  void *buffer = NULL;
  int result = 0;
  memset(&options, 0, sizeof options);
  options.device = words[count - 1];
  session = tflgpu_open(&net_model, &options, &error);
  if (tflgpu_import(session, NULL, &buffer, &error) != TFLGPU_INVALID_ARGUMENT) result = 1;
  if (tflgpu_import(session, memory, &buffer, &error) != TFLGPU_INVALID_ARGUMENT ||
      !strstr(error.message, "has format 1 instead of"))
    result = 1;
  format = AHARDWAREBUFFER_FORMAT_BLOB;
  if (tflgpu_import(session, memory, &buffer, &error) != TFLGPU_UNFIT_DEVICE ||
      !strstr(error.message, "cannot import hardware buffers: it lacks"))
    result = 1;
  if (result) fprintf(stderr, "%s\n", error.message);
  tflgpu_close(session);
  return result;
}
