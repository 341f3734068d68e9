/* A device that is lost during a run, of which the implementation then tells nothing by itself.
 *
 * To be linked with --wrap of the functions that are defined here. */
#include "net_model.h"

#include <stdio.h>
#include <string.h>
#include <webgpu/webgpu.h>

void __real_wgpuInstanceProcessEvents(WGPUInstance instance);
void __real_wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer *commands);
WGPUQueue __real_wgpuDeviceGetQueue(WGPUDevice device);

static WGPUDevice opened;
static int lose, lost;

WGPUQueue __wrap_wgpuDeviceGetQueue(WGPUDevice device) {
  opened = device;
  return __real_wgpuDeviceGetQueue(device);
}

void __wrap_wgpuQueueSubmit(WGPUQueue queue, size_t count, const WGPUCommandBuffer *commands) {
  __real_wgpuQueueSubmit(queue, count, commands);
  if (lose) wgpuDeviceDestroy(opened);
  lost = lose;
}

void __wrap_wgpuInstanceProcessEvents(WGPUInstance instance) {
  if (!lost) __real_wgpuInstanceProcessEvents(instance);
}

int main(void) {
  float image[64] = {0}, probabilities[10];
  const void *inputs[] = {image};
  void *outputs[] = {probabilities};
  tflgpu_error error;
  tflgpu_session *session = tflgpu_open(&net_model, NULL, &error);
  int i;
  if (!session || tflgpu_run(session, inputs, outputs, &error)) return 1;
  for (lose = 1, i = 0; i < 2; i++) {
    if (tflgpu_run(session, inputs, outputs, &error) != TFLGPU_DRIVER_ERROR) return 2;
    if (!strstr(error.message, "the device is lost; open the model again")) return fputs(error.message, stderr), 3;
  }
  tflgpu_close(session);
  return 0;
}
