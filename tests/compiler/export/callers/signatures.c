/* signatures DEVICE IN.bin OUT.bin CACHE [SIGNATURE...]: runs these signatures in turn on the inputs
 * that IN.bin holds for each, and writes the outputs of each to OUT.bin. "reset" resets the state.
 * Exits with 0 if all share the weights, and what there is not is refused. */
#include "tflgpu_backend.h"
#include "net_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

static void *block(const tflgpu_tensor *tensor) {
  return calloc(1, (size_t)tflgpu_byte_size(tensor) + 1);
}

/* Runs a session on what the file holds next. */
static int run(tflgpu_session *session, FILE *from, FILE *to, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  void *inputs[MOST], *outputs[MOST];
  uint32_t i;
  int failed = 0;
  for (i = 0; i < model->input_count; i++) {
    const size_t size = (size_t)tflgpu_byte_size(&model->inputs[i]);
    inputs[i] = block(&model->inputs[i]);
    failed |= fread(inputs[i], 1, size, from) != size;
  }
  for (i = 0; i < model->output_count; i++) outputs[i] = block(&model->outputs[i]);
  failed = failed || tflgpu_run(session, (const void *const *)inputs, outputs, error);
  for (i = 0; i < model->output_count; i++) {
    fwrite(outputs[i], 1, (size_t)tflgpu_byte_size(&model->outputs[i]), to);
    free(outputs[i]);
  }
  for (i = 0; i < model->input_count; i++) free(inputs[i]);
  return failed;
}

int main(int count, char **words) {
  tflgpu_options options;
  tflgpu_error error;
  tflgpu_session *session, *other;
  FILE *from, *to;
  int i, failed = 0;
  if (count < 5) return 2;
  memset(&options, 0, sizeof options);
  options.device = words[1];
  options.cache_folder = words[4];
  from = fopen(words[2], "rb");
  to = fopen(words[3], "wb");
  session = tflgpu_open(&net_model, &options, &error);
  for (i = 5; from && to && session && !failed && i < count; i++) {
    if (!strcmp(words[i], "reset")) {
      failed = tflgpu_reset(session, &error);
      continue;
    }
    other = tflgpu_signature(session, words[i], &error);
    failed = !other || other->buffers[1] != session->buffers[1] || run(other, from, to, &error);
    if (other && tflgpu_signature(other, words[i], &error) != other) failed = 1;
    if (other) session = other; /* any of them leads to the others */
  }
  if (!session || failed) fprintf(stderr, "%s: %s\n", words[i < count ? i : 1], error.message);
  failed |= !session || !from || !to;
  if (!failed && (tflgpu_signature(session, "none", &error) ||
                  !strstr(error.message, "not compiled for signature none"))) {
    fprintf(stderr, "a signature that is not there: %s\n", error.message);
    failed = 1;
  }
  tflgpu_close(session);
  if (from) fclose(from);
  if (to) fclose(to);
  return failed;
}
