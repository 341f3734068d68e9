/* both DEVICE DEVICE: one model on OpenCL and on OpenGL ES in one program. Exits with 0 if the
 * results are close. */
#include "first_model.h"
#include "second_model.h"

#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
  static float image[64], found[2][10];
  const tflgpu_model *models[] = {&first_model, &second_model};
  tflgpu_error error;
  int i, j;
  if (count != 3) return 2;
  for (i = 0; i < 64; i++) image[i] = (float)(i % 5) / 5;
  for (i = 0; i < 2; i++) {
    const void *inputs[] = {image};
    void *outputs[] = {found[i]};
    tflgpu_options options;
    tflgpu_session *session;
    memset(&options, 0, sizeof options);
    options.device = words[i + 1];
    session = tflgpu_open(models[i], &options, &error);
    if (!session || tflgpu_run(session, inputs, outputs, &error)) {
      fprintf(stderr, "%s\n", error.message);
      return 1;
    }
    tflgpu_close(session);
  }
  for (j = 0; j < 10; j++) {
    const float difference = found[0][j] - found[1][j];
    if (difference > 1e-5f || difference < -1e-5f) return 1;
  }
  return 0;
}
