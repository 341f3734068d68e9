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

/* A pointer to each tensor in one block of memory, which is the last entry; NULL if it is full. */
static void **allocate(const tflgpu_tensor *tensors, uint32_t count, uint64_t *size) {
  void **places = (void **)calloc(count + 1u, sizeof *places);
  unsigned char *block;
  uint32_t i;
  uint64_t offset = 0;
  *size = 0;
  for (i = 0; i < count; i++) *size += tflgpu_byte_size(&tensors[i]);
  block = (unsigned char *)malloc((size_t)*size + 1);
  if (!places || !block) {
    free(places);
    free(block);
    return NULL;
  }
  places[count] = block;
  for (i = 0; i < count; i++) {
    places[i] = block + offset;
    offset += tflgpu_byte_size(&tensors[i]);
  }
  return places;
}

static void release(void **places, uint32_t count) {
  if (places) free(places[count]);
  free(places);
}

static int read_whole(const char *path, void *to, uint64_t size) {
  FILE *file = fopen(path, "rb");
  int whole = file && (!size || fread(to, (size_t)size, 1, file) == 1) && fgetc(file) == EOF;
  if (file) fclose(file);
  return whole;
}

static int write_whole(const char *path, const void *from, uint64_t size) {
  FILE *file = fopen(path, "wb");
  int whole = file && (!size || fwrite(from, (size_t)size, 1, file) == 1);
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
  uint64_t input_size, output_size;
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
  inputs = allocate(model->inputs, model->input_count, &input_size);
  outputs = allocate(model->outputs, model->output_count, &output_size);
  if (!inputs || !outputs)
    fail("out of memory");
  else if (!read_whole(paths[0], inputs[model->input_count], input_size))
    fprintf(stderr, "%s does not hold the %lu bytes of the inputs\n", paths[0],
            (unsigned long)input_size);
  else if ((session = tflgpu_open(exported_model, &options, &error)) == NULL ||
           (chosen = tflgpu_signature(session, model->signature, &error)) == NULL)
    fail(error.message);
  else {
    tflgpu_status status = TFLGPU_OK;
    for (; !status && runs > 0; runs--)
      status = tflgpu_run(chosen, (const void *const *)inputs, outputs, &error);
    if (status)
      fail(error.message);
    else if (!write_whole(paths[1], outputs[model->output_count], output_size))
      fprintf(stderr, "%s cannot be written\n", paths[1]);
    else
      result = 0;
  }
  tflgpu_close(session);
  release(inputs, model->input_count);
  release(outputs, model->output_count);
  return result;
}
