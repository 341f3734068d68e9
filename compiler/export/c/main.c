/* Runs @{name} on arrays from a file:
 *
 *     ./demo INPUTS.bin OUTPUTS.bin [OPTIONS]
 *
 * INPUTS.bin holds the inputs one after the other, in the model's order, as they lie in memory;
 * OUTPUTS.bin receives the outputs in the same way. ./demo --help lists the options. */
#include "@{name}.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Here, as the model may have the name of a variable of a function. */
static const tflgpu_model *const exported_model = &@{name};

static const char usage[] =
    "usage: demo INPUTS.bin OUTPUTS.bin [--weights FILE] [--cache DIR] [--device NAME] [--runs N]\n"
    "            [--signature NAME]\n"
    "\n"
    "  INPUTS.bin      the inputs one after the other, as they lie in memory\n"
    "  OUTPUTS.bin     receives the outputs in the same way\n"
    "  --weights FILE  the file of weights, unless they are embedded\n"
    "  --cache DIR     keep compiled kernels in this folder, for a fast start\n"
    "  --device NAME   part of the name of a device; default: the best one\n"
    "  --runs N        run N times; default: 1\n"
    "  --signature NAME  of the model; default: the first\n"
    "  --help          print this\n";

static int fail(const char *message) {
  fprintf(stderr, "%s\n", message);
  return 1;
}

static void release(void **arrays) {
  void **each = arrays;
  while (each && *each) free(*each++);
  free(arrays);
}

/* An array for each tensor, aligned for its elements, and NULL behind them; NULL if memory is
 * full. */
static void **allocate(const tflgpu_tensor *tensors, uint32_t count) {
  void **arrays = (void **)calloc(count + 1u, sizeof *arrays);
  uint32_t i;
  for (i = 0; arrays && i < count; i++) {
    arrays[i] = malloc((size_t)tflgpu_byte_size(&tensors[i]) + 1);
    if (!arrays[i]) {
      release(arrays);
      return NULL;
    }
  }
  return arrays;
}

static unsigned long bytes(const tflgpu_tensor *tensors, uint32_t count) {
  unsigned long sum = 0;
  while (count) sum += (unsigned long)tflgpu_byte_size(&tensors[--count]);
  return sum;
}

static int read_all(const char *path, const tflgpu_tensor *tensors, void **arrays) {
  FILE *file = fopen(path, "rb");
  int whole = file != NULL;
  for (; whole && *arrays; arrays++) {
    size_t size = (size_t)tflgpu_byte_size(tensors++);
    whole = fread(*arrays, 1, size, file) == size;
  }
  whole = whole && fgetc(file) == EOF;
  if (file) fclose(file);
  return whole;
}

static int write_all(const char *path, const tflgpu_tensor *tensors, void **arrays) {
  FILE *file = fopen(path, "wb");
  int whole = file != NULL;
  for (; whole && *arrays; arrays++) {
    size_t size = (size_t)tflgpu_byte_size(tensors++);
    whole = fwrite(*arrays, 1, size, file) == size;
  }
  if (file && fclose(file)) whole = 0;
  return whole;
}

/* 0 if the text is no number, or too large for one. */
static long number(const char *text) {
  char *end;
  long value;
  errno = 0;
  value = strtol(text, &end, 10);
  return *end || errno ? 0 : value;
}

int main(int count, char **words) {
  const tflgpu_model *model = exported_model;
  const char *paths[2] = {NULL, NULL}, *signature = NULL;
  tflgpu_options options;
  tflgpu_error error;
  tflgpu_session *session = NULL, *chosen = NULL;
  void **inputs, **outputs;
  long runs = 1;
  int i, given = 0, result = 1;
  memset(&options, 0, sizeof options);
  memset(&error, 0, sizeof error);
  for (i = 1; i < count; i++) {
    const char *value = i + 1 < count ? words[i + 1] : NULL;
    if (words[i][0] != '-') {
      if (given == 2) return fail("too many files");
      paths[given++] = words[i];
      continue;
    }
    if (!strcmp(words[i], "--help") || !strcmp(words[i], "-h")) {
      fputs(usage, stdout);
      return 0;
    }
    if (!value) {
      fprintf(stderr, "%s: it lacks its value, or is no option\n\n%s", words[i], usage);
      return 1;
    }
    if (!strcmp(words[i], "--weights")) options.weights_file = value;
    else if (!strcmp(words[i], "--cache")) options.cache_folder = value;
    else if (!strcmp(words[i], "--device")) options.device = value;
    else if (!strcmp(words[i], "--runs")) runs = number(value);
    else if (!strcmp(words[i], "--signature")) signature = value;
    else {
      fprintf(stderr, "there is no option %s\n\n%s", words[i], usage);
      return 1;
    }
    i++;
  }
  if (given < 2) return fail(usage);
  if (runs < 1) return fail("--runs is no number above 0");
  while (signature && model && strcmp(model->signature, signature)) model = model->next;
  if (!model) return fail("--signature is none that the model was compiled for");
  inputs = allocate(model->inputs, model->input_count);
  outputs = allocate(model->outputs, model->output_count);
  if (!inputs || !outputs)
    fail("out of memory");
  else if (!read_all(paths[0], model->inputs, inputs))
    fprintf(stderr, "%s does not hold the %lu bytes of the inputs\n", paths[0],
            bytes(model->inputs, model->input_count));
  else if ((session = tflgpu_open(exported_model, &options, &error)) == NULL ||
           (chosen = tflgpu_signature(session, model->signature, &error)) == NULL)
    fail(error.message);
  else {
    tflgpu_status status = TFLGPU_OK;
    for (; !status && runs > 0; runs--)
      status = tflgpu_run(chosen, (const void *const *)inputs, outputs, &error);
    if (status)
      fail(error.message);
    else if (!write_all(paths[1], model->outputs, outputs))
      fprintf(stderr, "%s cannot be written\n", paths[1]);
    else
      result = 0;
  }
  tflgpu_close(session);
  release(inputs);
  release(outputs);
  return result;
}
