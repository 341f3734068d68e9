/* threads DEVICE TIMES: eight threads that open a session, run it and close it, so many times each.
 * Exits with 0 if all results are the same bytes. */
#include "net_model.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, RUNS = 3, FLOATS = 64 };

static const char *device;
static int times;

typedef struct work {
  pthread_t thread;
  float image[FLOATS], found[FLOATS];
  tflgpu_error error;
} work;

static void *run(void *given) {
  work *mine = (work *)given;
  const void *inputs[] = {mine->image};
  void *outputs[] = {mine->found};
  tflgpu_options options;
  int i, j;
  memset(&options, 0, sizeof options);
  options.device = device;
  for (i = 0; i < times; i++) {
    tflgpu_session *session = tflgpu_open(&net_model, &options, &mine->error);
    for (j = 0; session && j < RUNS; j++)
      if (tflgpu_run(session, inputs, outputs, &mine->error)) break;
    tflgpu_close(session);
    if (mine->error.status) break;
  }
  return NULL;
}

int main(int count, char **words) {
  static work all[THREADS];
  int i, j;
  if (count != 3) return 2;
  device = words[1];
  times = atoi(words[2]);
  for (i = 0; i < THREADS; i++) {
    for (j = 0; j < FLOATS; j++) all[i].image[j] = (float)(j % 5);
    if (pthread_create(&all[i].thread, NULL, run, &all[i])) return 2;
  }
  for (i = 0; i < THREADS; i++) pthread_join(all[i].thread, NULL);
  for (i = 0; i < THREADS; i++)
    if (all[i].error.status || memcmp(all[i].found, all[0].found, sizeof all[0].found)) {
      fprintf(stderr, "thread %d: %s\n", i, all[i].error.message);
      return 1;
    }
  return 0;
}
