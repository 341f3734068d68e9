/* A program's own WebGPU. */
#include "driver.h"
#include "net_model.h"

#include <string.h>
#include <webgpu/webgpu.h>

#define USAGE (WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst)

static WGPUInstance instance;
static WGPUDevice device;
static WGPUQueue queue;
static int waiting;

static void got_adapter(WGPURequestAdapterStatus status, WGPUAdapter found, WGPUStringView message,
                        void *to, void *unused) {
  (void)status, (void)message, (void)unused;
  *(WGPUAdapter *)to = found;
}

static void got_device(WGPURequestDeviceStatus status, WGPUDevice found, WGPUStringView message,
                       void *to, void *unused) {
  (void)status, (void)message, (void)unused;
  *(WGPUDevice *)to = found;
}

static void finished(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *unused,
                     void *unused_too) {
  (void)status, (void)message, (void)unused, (void)unused_too;
  waiting = 0;
}

static void mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *unused,
                   void *unused_too) {
  (void)status, (void)message, (void)unused, (void)unused_too;
  waiting = 0;
}

static void wait(void) {
  while (waiting) wgpuInstanceProcessEvents(instance);
}

int driver_open(const char *wanted, tflgpu_options *options) {
  WGPURequestAdapterCallbackInfo adapter_told = {.callback = got_adapter};
  WGPURequestDeviceCallbackInfo device_told = {.callback = got_device};
  WGPUAdapter adapter = NULL;
  tflgpu_error error;
  tflgpu_session *own;
  void *buffer;
  instance = wgpuCreateInstance(NULL);
  adapter_told.mode = device_told.mode = WGPUCallbackMode_AllowSpontaneous;
  adapter_told.userdata1 = &adapter;
  device_told.userdata1 = &device;
  wgpuInstanceRequestAdapter(instance, NULL, adapter_told);
  wgpuAdapterRequestDevice(adapter, NULL, device_told);
  wgpuAdapterRelease(adapter);
  queue = wgpuDeviceGetQueue(device);

  /* A device needs its instance. */
  options->wgpu_device = device;
  if (tflgpu_open(&net_model, options, &error) || !strstr(error.message, "needs options.wgpu_instance"))
    return 0;

  /* A session with a device of its own takes no buffers. */
  options->wgpu_device = NULL;
  options->device = wanted;
  own = tflgpu_open(&net_model, options, &error);
  buffer = driver_buffer((size_t)net_model.inputs[0].buffer_size, NULL);
  if (!own || tflgpu_bind_input(own, 0, buffer, &error) != TFLGPU_INVALID_ARGUMENT ||
      !strstr(error.message, "has a device of its own"))
    return 0;
  driver_release(buffer);
  tflgpu_close(own);
  options->device = NULL;
  options->wgpu_instance = instance;
  options->wgpu_device = device;

  /* What the device says of a buffer that kernels cannot use. */
  own = tflgpu_open(&net_model, options, &error);
  buffer = wgpuDeviceCreateBuffer(
      device, &(WGPUBufferDescriptor){.usage = WGPUBufferUsage_CopyDst, .size = 1 << 16});
  if (!own || tflgpu_bind_input(own, 0, buffer, &error) != TFLGPU_DRIVER_ERROR ||
      !strstr(error.message, "binding the kernels failed: "))
    return 0;
  tflgpu_close(own);
  driver_release(buffer);
  return 1;
}

void *driver_buffer(size_t size, const void *content) {
  WGPUBuffer buffer =
      wgpuDeviceCreateBuffer(device, &(WGPUBufferDescriptor){.usage = USAGE, .size = size});
  if (content) wgpuQueueWriteBuffer(queue, buffer, 0, content, size);
  return buffer;
}

void driver_read(void *buffer, void *to, size_t size) {
  WGPUBufferMapCallbackInfo told = {.callback = mapped};
  WGPUBufferDescriptor described = {.size = size};
  WGPUCommandEncoder encoder = wgpuDeviceCreateCommandEncoder(device, NULL);
  WGPUCommandBuffer commands;
  WGPUBuffer staging;
  described.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst;
  staging = wgpuDeviceCreateBuffer(device, &described);
  wgpuCommandEncoderCopyBufferToBuffer(encoder, buffer, 0, staging, 0, size);
  commands = wgpuCommandEncoderFinish(encoder, NULL);
  wgpuQueueSubmit(queue, 1, &commands);
  told.mode = WGPUCallbackMode_AllowProcessEvents;
  waiting = 1;
  wgpuBufferMapAsync(staging, WGPUMapMode_Read, 0, size, told);
  wait();
  memcpy(to, wgpuBufferGetConstMappedRange(staging, 0, size), size);
  wgpuCommandBufferRelease(commands);
  wgpuCommandEncoderRelease(encoder);
  driver_release(staging);
}

void driver_release(void *buffer) {
  wgpuBufferDestroy(buffer);
  wgpuBufferRelease(buffer);
}

void driver_wait(void *done) {
  WGPUQueueWorkDoneCallbackInfo told = {.callback = finished};
  told.mode = WGPUCallbackMode_AllowProcessEvents;
  waiting = 1;
  wgpuQueueOnSubmittedWorkDone(done, told);
  wait();
  wgpuQueueRelease(done);
}

void driver_close(void) {
  wgpuQueueRelease(queue);
  wgpuDeviceRelease(device);
  wgpuInstanceRelease(instance);
}
