/* The runtime for WebGPU: the same file for every model. See tflgpu.h.
 *
 * The program is linked with what implements webgpu.h: wgpu-native, Dawn, or a browser through
 * Emscripten, which needs -sASYNCIFY or -sJSPI to wait. */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#endif

#include "tflgpu_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <webgpu/webgpu.h>

/* The backend is asked for by name: through OpenGL, WebGPU lacks what kernels need, and looking for
 * its adapters would leave no context of the application current. */
#if defined(__EMSCRIPTEN__)
#include <emscripten.h>
enum { BACKEND = WGPUBackendType_Undefined };
#elif defined(_WIN32)
#include <windows.h>
enum { BACKEND = WGPUBackendType_D3D12 };
#else
#include <time.h>
#ifdef __APPLE__
enum { BACKEND = WGPUBackendType_Metal };
#else
enum { BACKEND = WGPUBackendType_Vulkan };
#endif
#endif

/* A copy of a buffer that the host waits for. */
typedef struct download {
  WGPUBuffer staging;
  void *to;
  uint64_t size;
  int started; /* whether mapping it is */
  struct download *next;
} download;

typedef struct webgpu_session {
  tflgpu_session shared;
  WGPUInstance instance;
  WGPUAdapter adapter; /* NULL if the device is the caller's */
  WGPUDevice device;
  WGPUQueue queue;
  WGPUComputePipeline *pipelines; /* of each kernel */
  WGPUBindGroup *bindings;        /* of each step */
  WGPUCommandEncoder encoder; /* what is recorded and not yet submitted; NULL if nothing is */
  download *downloads;
  uint32_t awaited;     /* callbacks that are to come, if the device is not lost */
  int lost;             /* whether it is */
  tflgpu_status failed; /* the first error that they tell of, and its message */
  char message[1024];
} webgpu_session;

static webgpu_session *webgpu(tflgpu_session *session) { return (webgpu_session *)session; }

static WGPUStringView view(const char *text) {
  const WGPUStringView found = {text, WGPU_STRLEN};
  return found;
}

static void copy_text(char *to, size_t size, WGPUStringView from) {
  size_t length = from.length;
  if (!from.data) length = 0;
  else if (length == WGPU_STRLEN) length = strlen(from.data);
  snprintf(to, size, "%.*s", (int)length, length ? from.data : "");
}

/* -- waiting -------------------------------------------------------------------------------- */

/* What each of the callbacks below does, which `settle` waits for. */
static void arrived(void *waiting, int succeeded, WGPUErrorType type, WGPUStringView message) {
  webgpu_session *session = (webgpu_session *)waiting;
  session->awaited--;
  if ((succeeded && type == WGPUErrorType_NoError) || session->failed) return;
  session->failed =
      type == WGPUErrorType_OutOfMemory ? TFLGPU_OUT_OF_MEMORY : TFLGPU_DRIVER_ERROR;
  copy_text(session->message, sizeof session->message, message);
}

static void collected(WGPUPopErrorScopeStatus status, WGPUErrorType type, WGPUStringView message,
                      void *session, void *unused) {
  (void)unused;
  arrived(session, status == WGPUPopErrorScopeStatus_Success, type, message);
}

static void mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *session,
                   void *unused) {
  (void)unused;
  arrived(session, status == WGPUMapAsyncStatus_Success, WGPUErrorType_NoError, message);
}

static void done(WGPUQueueWorkDoneStatus status, WGPUStringView message, void *session,
                 void *unused) {
  (void)unused;
  arrived(session, status == WGPUQueueWorkDoneStatus_Success, WGPUErrorType_NoError, message);
}

/* Whether there is an adapter is seen by looking: that there is none is no error yet. */
static void found_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter,
                          WGPUStringView message, void *session, void *unused) {
  (void)status, (void)unused;
  ((webgpu_session *)session)->adapter = adapter;
  arrived(session, 1, WGPUErrorType_NoError, message);
}

static void opened(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
                   void *session, void *unused) {
  (void)unused;
  ((webgpu_session *)session)->device = device;
  arrived(session, status == WGPURequestDeviceStatus_Success, WGPUErrorType_NoError, message);
}

/* Whether the device is lost, which whatever it makes tells, and which has then failed. */
static int is_lost(webgpu_session *session) {
  const WGPUPopErrorScopeCallbackInfo callback = {
      .mode = WGPUCallbackMode_AllowSpontaneous, .callback = collected, .userdata1 = session};
  const WGPUBufferDescriptor smallest = {.usage = WGPUBufferUsage_CopyDst, .size = 4};
  const tflgpu_status before = session->failed;
  session->failed = TFLGPU_OK;
  session->awaited++;
  wgpuDevicePushErrorScope(session->device, WGPUErrorFilter_Validation);
  wgpuBufferRelease(wgpuDeviceCreateBuffer(session->device, &smallest));
  wgpuDevicePopErrorScope(session->device, callback);
  if (session->failed) return 1;
  session->failed = before;
  return 0;
}

/* The device has no thread of its own that calls back, and not every implementation can wait. */
static void settle(webgpu_session *session) {
  enum { TURNS = 4096 }; /* a fraction of a second */
  uint32_t turns = 0;
  while (wgpuInstanceProcessEvents(session->instance), session->awaited && !session->lost) {
    /* wgpu-native calls back no more if a driver says so while it is asked for events. */
    if (++turns % TURNS == 0 && session->device) session->lost = is_lost(session);
#if defined(__EMSCRIPTEN__)
    emscripten_sleep(0);
#elif defined(_WIN32)
    Sleep(0);
#else
    static const struct timespec moment = {0, 20000};
    nanosleep(&moment, NULL);
#endif
  }
}

/* -- errors --------------------------------------------------------------------------------- */

/* Not every implementation knows the filter of internal errors. */
static const WGPUErrorFilter filters[] = {WGPUErrorFilter_Validation, WGPUErrorFilter_OutOfMemory};
enum { FILTERS = sizeof filters / sizeof *filters };

/* Begins to collect errors until the next `check`. */
static void watch(webgpu_session *session) {
  int i;
  for (i = 0; i < FILTERS; i++) wgpuDevicePushErrorScope(session->device, filters[i]);
}

/* The first error that callbacks have told of, which is then forgotten. */
static tflgpu_status failure(webgpu_session *session, const char *what, tflgpu_error *error) {
  const tflgpu_status failed = session->lost ? TFLGPU_DRIVER_ERROR : session->failed;
  session->failed = TFLGPU_OK;
  if (!failed) return TFLGPU_OK;
  if (session->lost || !*session->message)
    return tflgpu_fail(error, failed, "%s failed: the device is lost; open the model again", what);
  return tflgpu_fail(error, failed, "%s failed: %s", what, session->message);
}

/* Ends `watch` without waiting: `finish` tells of the errors. */
static void unwatch(webgpu_session *session) {
  const WGPUPopErrorScopeCallbackInfo callback = {
      .mode = WGPUCallbackMode_AllowSpontaneous, .callback = collected, .userdata1 = session};
  int i;
  session->awaited += FILTERS;
  for (i = 0; i < FILTERS; i++) wgpuDevicePopErrorScope(session->device, callback);
}

static tflgpu_status check(webgpu_session *session, const char *what, tflgpu_error *error) {
  unwatch(session);
  settle(session);
  return failure(session, what, error);
}

/* WebGPU copies and binds whole words. */
static uint64_t whole_words(uint64_t size) { return (size + 3) / 4 * 4; }

/* -- recording ------------------------------------------------------------------------------ */

/* Drivers may wait between submissions, so what a call does is one of them. */
static WGPUCommandEncoder recording(webgpu_session *session) {
  if (!session->encoder) {
    watch(session);
    session->encoder = wgpuDeviceCreateCommandEncoder(session->device, NULL);
  }
  return session->encoder;
}

/* Starts what has been recorded, and then mapping what is copied for the host. */
static void submit(webgpu_session *session) {
  const WGPUBufferMapCallbackInfo callback = {
      .mode = WGPUCallbackMode_AllowProcessEvents, .callback = mapped, .userdata1 = session};
  WGPUCommandBuffer commands;
  download *copy;
  if (!session->encoder) return;
  commands = wgpuCommandEncoderFinish(session->encoder, NULL);
  wgpuCommandEncoderRelease(session->encoder);
  session->encoder = NULL;
  unwatch(session);
  /* wgpu-native tells of errors at once, and would end the process here. */
  if (session->failed || session->lost) {
    wgpuCommandBufferRelease(commands);
    return;
  }
  watch(session);
  wgpuQueueSubmit(session->queue, 1, &commands);
  wgpuCommandBufferRelease(commands);
  for (copy = session->downloads; copy && !copy->started; copy = copy->next) {
    copy->started = 1;
    session->awaited++;
    wgpuBufferMapAsync(copy->staging, WGPUMapMode_Read, 0, (size_t)whole_words(copy->size),
                       callback);
  }
  unwatch(session);
}

/* -- opening and closing -------------------------------------------------------------------- */

/* WebGPU's names of what kernels may need. */
static const struct {
  const char *name;
  WGPUFeatureName feature;
} features[] = {
    {"shader-f16", WGPUFeatureName_ShaderF16},
    {"subgroups", WGPUFeatureName_Subgroups},
};
enum { FEATURES = sizeof features / sizeof *features };

static int has_extension(tflgpu_session *shared, const char *name) {
  int i;
  for (i = 0; i < FEATURES; i++)
    if (!strcmp(features[i].name, name))
      return wgpuDeviceHasFeature(webgpu(shared)->device, features[i].feature) != 0;
  return 0;
}

static void leave(tflgpu_session *shared) { submit(webgpu(shared)); }

static void describe(webgpu_session *session, const WGPUAdapterInfo *info) {
  tflgpu_device *device = &session->shared.device;
  copy_text(device->name, sizeof device->name, info->device);
  copy_text(device->vendor, sizeof device->vendor, info->vendor);
  memcpy(device->platform, device->vendor, sizeof device->platform);
  device->on_processor = info->adapterType == WGPUAdapterType_CPU;
  device->type = device->on_processor ? "cpu" : "gpu";
}

/* Whether there is such an adapter with this text in its name. */
static int try_adapter(webgpu_session *session, const WGPURequestAdapterOptions *options,
                       const char *wanted) {
  const WGPURequestAdapterCallbackInfo callback = {
      .mode = WGPUCallbackMode_AllowSpontaneous, .callback = found_adapter, .userdata1 = session};
  const tflgpu_device *device = &session->shared.device;
  WGPUAdapterInfo info = {0};
  int fits;
  session->awaited++;
  wgpuInstanceRequestAdapter(session->instance, options, callback);
  settle(session);
  if (!session->adapter) return 0;
  wgpuAdapterGetInfo(session->adapter, &info);
  describe(session, &info);
  fits = !wanted || tflgpu_contains(device->name, wanted) ||
         tflgpu_contains(device->vendor, wanted);
  wgpuAdapterInfoFreeMembers(info);
  if (fits) return 1;
  wgpuAdapterRelease(session->adapter);
  session->adapter = NULL;
  return 0;
}

static tflgpu_status choose_adapter(webgpu_session *session, const char *wanted,
                                    tflgpu_error *error) {
  enum { WAYS = 3 };
  int i;
  for (i = 0; i < WAYS; i++) {
    const WGPURequestAdapterOptions options = {
        .featureLevel = WGPUFeatureLevel_Core,
        .powerPreference =
            i == 1 ? WGPUPowerPreference_LowPower : WGPUPowerPreference_HighPerformance,
        .forceFallbackAdapter = i == 2,
        .backendType = (WGPUBackendType)BACKEND};
    if (try_adapter(session, &options, wanted)) return TFLGPU_OK;
  }
  return tflgpu_no_device(error, "WebGPU", wanted,
                          "; install a driver of Vulkan, Metal or Direct3D 12");
}

/* Opens the adapter's device, with all it has that a model may need. */
static tflgpu_status request_device(webgpu_session *session, tflgpu_error *error) {
  const WGPURequestDeviceCallbackInfo callback = {
      .mode = WGPUCallbackMode_AllowSpontaneous, .callback = opened, .userdata1 = session};
  WGPUFeatureName wanted[FEATURES];
  WGPULimits limits = {0};
  WGPUDeviceDescriptor description = {.requiredFeatures = wanted, .requiredLimits = &limits};
  int i;
  for (i = 0; i < FEATURES; i++)
    if (wgpuAdapterHasFeature(session->adapter, features[i].feature))
      wanted[description.requiredFeatureCount++] = features[i].feature;
  wgpuAdapterGetLimits(session->adapter, &limits);
  session->awaited++;
  wgpuAdapterRequestDevice(session->adapter, &description, callback);
  settle(session);
  return failure(session, "opening the device", error);
}

static void read_limits(webgpu_session *session) {
  tflgpu_limits *limits = &session->shared.device.limits;
  WGPULimits has = {0};
  int axis;
  wgpuDeviceGetLimits(session->device, &has);
  limits->alignment = has.minStorageBufferOffsetAlignment;
  limits->group = has.maxComputeInvocationsPerWorkgroup;
  limits->group_sizes[0] = has.maxComputeWorkgroupSizeX;
  limits->group_sizes[1] = has.maxComputeWorkgroupSizeY;
  limits->group_sizes[2] = has.maxComputeWorkgroupSizeZ;
  for (axis = 0; axis < 3; axis++)
    limits->group_counts[axis] = has.maxComputeWorkgroupsPerDimension;
  limits->local_memory = has.maxComputeWorkgroupStorageSize;
  limits->arguments = has.maxStorageBuffersPerShaderStage;
  limits->argument_size = has.maxStorageBufferBindingSize;
  limits->buffer_size = has.maxBufferSize;
  limits->iterations = tflgpu_loop_limit(session->shared.device.name);
}

static tflgpu_status open_own(webgpu_session *session, const char *wanted, tflgpu_error *error) {
  tflgpu_status status;
  session->instance = wgpuCreateInstance(NULL);
  if (!session->instance)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "WebGPU cannot be started");
  status = choose_adapter(session, wanted, error);
  return status ? status : request_device(session, error);
}

static void use_device(webgpu_session *session, WGPUInstance instance, WGPUDevice device) {
  session->instance = instance;
  session->device = device;
  wgpuInstanceAddRef(instance);
  wgpuDeviceAddRef(device);
}

static tflgpu_status borrow_device(webgpu_session *session, const tflgpu_options *options,
                                   tflgpu_error *error) {
  tflgpu_device *device = &session->shared.device;
  if (!options->wgpu_instance)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "options.wgpu_device needs options.wgpu_instance, which it came from");
  use_device(session, (WGPUInstance)options->wgpu_instance, (WGPUDevice)options->wgpu_device);
  snprintf(device->name, sizeof device->name, "options.wgpu_device");
  device->type = "gpu";
  return TFLGPU_OK;
}

static tflgpu_status open_device(tflgpu_session *shared, const tflgpu_options *options,
                                 tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  tflgpu_status status = options->wgpu_device ? borrow_device(session, options, error)
                                              : open_own(session, options->device, error);
  if (status) return status;
  shared->device.lanes = 4;
  read_limits(session);
  session->queue = wgpuDeviceGetQueue(session->device);
  return TFLGPU_OK;
}

static tflgpu_status share_device(tflgpu_session *shared, tflgpu_session *with,
                                  tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  (void)error;
  use_device(session, webgpu(with)->instance, webgpu(with)->device);
  session->queue = wgpuDeviceGetQueue(session->device);
  return TFLGPU_OK;
}

static void close_device(tflgpu_session *shared) {
  webgpu_session *session = webgpu(shared);
  if (session->device) session->lost |= is_lost(session);
  if (session->instance) settle(session);
  if (session->queue) wgpuQueueRelease(session->queue);
  /* wgpu-native would wait for a lost one, and end the process. */
  if (session->device && !session->lost) wgpuDeviceRelease(session->device);
  if (session->adapter) wgpuAdapterRelease(session->adapter);
  if (session->instance) wgpuInstanceRelease(session->instance);
}

/* -- kernels -------------------------------------------------------------------------------- */

/* The pieces of a source as one text, which the caller frees; NULL if memory is missing. */
static char *joined_source(const tflgpu_schedule *schedule, const tflgpu_kernel *kernel) {
  const char *const *pieces = schedule->source + kernel->first_source;
  size_t size = 1, used = 0;
  char *text;
  uint32_t i;
  for (i = 0; i < kernel->source_count; i++) size += strlen(pieces[i]);
  text = (char *)malloc(size);
  for (i = 0; text && i < kernel->source_count; i++) {
    strcpy(text + used, pieces[i]);
    used += strlen(pieces[i]);
  }
  return text;
}

static tflgpu_status compile_kernel(webgpu_session *session, uint32_t index, tflgpu_error *error) {
  const tflgpu_schedule *schedule = session->shared.schedule;
  const tflgpu_kernel *kernel = &schedule->kernels[index];
  char *text = joined_source(schedule, kernel);
  const WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                       .code = view(text)};
  const WGPUShaderModuleDescriptor described = {
      .nextInChain = (WGPUChainedStruct *)&source.chain, .label = view(kernel->name)};
  WGPUComputePipelineDescriptor pipeline = {
      .label = view(kernel->name), .compute = {.entryPoint = view(NULL) /* the only one */}};
  tflgpu_error failed;
  if (!text) return tflgpu_out_of_memory(error);
  watch(session);
  pipeline.compute.module = wgpuDeviceCreateShaderModule(session->device, &described);
  session->pipelines[index] = wgpuDeviceCreateComputePipeline(session->device, &pipeline);
  wgpuShaderModuleRelease(pipeline.compute.module);
  free(text);
  if (!check(session, "compiling", &failed)) return TFLGPU_OK;
  return tflgpu_rejected(&session->shared, kernel, failed.message, error);
}

static tflgpu_status compile(tflgpu_session *shared, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  const tflgpu_schedule *schedule = shared->schedule;
  uint32_t i;
  tflgpu_status status;
  session->pipelines = (WGPUComputePipeline *)calloc(schedule->kernel_count + 1u,
                                                     sizeof *session->pipelines);
  session->bindings =
      (WGPUBindGroup *)calloc(schedule->step_count + 1u, sizeof *session->bindings);
  if (!session->pipelines || !session->bindings) return tflgpu_out_of_memory(error);
  for (i = 0; i < schedule->kernel_count; i++)
    if ((status = compile_kernel(session, i, error))) return status;
  return TFLGPU_OK;
}

static void discard(tflgpu_session *shared) {
  webgpu_session *session = webgpu(shared);
  const tflgpu_schedule *schedule = shared->schedule;
  uint32_t i;
  for (i = 0; session->bindings && i < schedule->step_count; i++)
    if (session->bindings[i]) wgpuBindGroupRelease(session->bindings[i]);
  for (i = 0; session->pipelines && i < schedule->kernel_count; i++)
    if (session->pipelines[i]) wgpuComputePipelineRelease(session->pipelines[i]);
  free(session->bindings);
  free(session->pipelines);
  session->bindings = NULL;
  session->pipelines = NULL;
}

/* -- memory --------------------------------------------------------------------------------- */

static WGPUBuffer new_buffer(webgpu_session *session, uint64_t size, WGPUBufferUsage usage,
                             int is_mapped) {
  const WGPUBufferDescriptor description = {
      .size = whole_words(size), .usage = usage, .mappedAtCreation = is_mapped};
  return wgpuDeviceCreateBuffer(session->device, &description);
}

static tflgpu_status allocate(tflgpu_session *shared, uint64_t size, const void *content,
                              void **buffer, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  tflgpu_status status;
  watch(session);
  *buffer = new_buffer(
      session, size, WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst,
      content != NULL);
  status = check(session, "allocating a buffer", error);
  /* wgpu-native ends the process if memory that is not there is written. */
  if (!status && content) {
    void *memory = wgpuBufferGetMappedRange((WGPUBuffer)*buffer, 0, (size_t)whole_words(size));
    watch(session);
    if (memory) memcpy(memory, content, (size_t)size);
    wgpuBufferUnmap((WGPUBuffer)*buffer);
    status = check(session, "copying to a buffer", error);
  }
  return status;
}

static void release(tflgpu_session *shared, void *buffer) {
  (void)shared;
  wgpuBufferDestroy((WGPUBuffer)buffer);
  wgpuBufferRelease((WGPUBuffer)buffer);
}

static tflgpu_status buffer_size(tflgpu_session *shared, void *buffer, uint64_t *size,
                                 tflgpu_error *error) {
  if (webgpu(shared)->adapter)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the session has a device of its own, which knows no buffers of others; "
                       "open it with options.wgpu_device");
  *size = wgpuBufferGetSize((WGPUBuffer)buffer);
  return TFLGPU_OK;
}

static tflgpu_status write_buffer(tflgpu_session *shared, void *buffer, const void *from,
                                  uint64_t size, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  const uint64_t most = size / 4 * 4;
  uint32_t rest = 0;
  (void)error;
  submit(session);
  watch(session);
  wgpuQueueWriteBuffer(session->queue, (WGPUBuffer)buffer, 0, from, (size_t)most);
  if (most < size) {
    memcpy(&rest, (const char *)from + most, (size_t)(size - most));
    wgpuQueueWriteBuffer(session->queue, (WGPUBuffer)buffer, most, &rest, sizeof rest);
  }
  unwatch(session);
  return TFLGPU_OK;
}

static tflgpu_status clear(tflgpu_session *shared, void *buffer, uint64_t size,
                           tflgpu_error *error) {
  (void)error;
  wgpuCommandEncoderClearBuffer(recording(webgpu(shared)), (WGPUBuffer)buffer, 0,
                                whole_words(size));
  return TFLGPU_OK;
}

static tflgpu_status read_buffer(tflgpu_session *shared, void *buffer, void *to, uint64_t size,
                                 tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  download *copy = (download *)calloc(1, sizeof *copy);
  WGPUCommandEncoder encoder = recording(session);
  if (!copy) return tflgpu_out_of_memory(error);
  copy->staging =
      new_buffer(session, size, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, 0);
  copy->to = to;
  copy->size = size;
  wgpuCommandEncoderCopyBufferToBuffer(encoder, (WGPUBuffer)buffer, 0, copy->staging, 0,
                                       whole_words(size));
  copy->next = session->downloads;
  session->downloads = copy;
  return TFLGPU_OK;
}

/* -- running -------------------------------------------------------------------------------- */

static tflgpu_status bind_step(webgpu_session *session, uint32_t number, tflgpu_error *error) {
  const tflgpu_step *step = &session->shared.schedule->steps[number];
  WGPUBindGroupEntry *entries =
      (WGPUBindGroupEntry *)calloc(step->argument_count + 1u, sizeof *entries);
  const WGPUBindGroupDescriptor description = {
      .layout = wgpuComputePipelineGetBindGroupLayout(session->pipelines[step->kernel], 0),
      .entryCount = step->argument_count,
      .entries = entries};
  uint32_t i;
  for (i = 0; entries && i < step->argument_count; i++) {
    const tflgpu_argument *argument =
        &session->shared.schedule->arguments[step->first_argument + i];
    entries[i].binding = i;
    entries[i].buffer = (WGPUBuffer)tflgpu_buffer(&session->shared, argument);
    entries[i].offset = argument->offset;
    /* There are no empty bindings; a kernel never reads an empty argument. */
    entries[i].size = argument->size ? whole_words(argument->size) : 16;
  }
  if (session->bindings[number]) wgpuBindGroupRelease(session->bindings[number]);
  session->bindings[number] =
      entries ? wgpuDeviceCreateBindGroup(session->device, &description) : NULL;
  wgpuBindGroupLayoutRelease(description.layout);
  free(entries);
  return entries ? TFLGPU_OK : tflgpu_out_of_memory(error);
}

static tflgpu_status bind_steps(tflgpu_session *shared, const void *buffer, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  tflgpu_status status = TFLGPU_OK, checked;
  uint32_t i;
  watch(session);
  for (i = 0; !status && i < shared->schedule->step_count; i++)
    if (tflgpu_binds(shared, i, buffer)) status = bind_step(session, i, error);
  checked = check(session, "binding the kernels", status ? NULL : error);
  return status ? status : checked;
}

static tflgpu_status launch(tflgpu_session *shared, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  WGPUComputePassEncoder pass = wgpuCommandEncoderBeginComputePass(recording(session), NULL);
  uint32_t i;
  (void)error;
  for (i = 0; i < shared->schedule->step_count; i++) {
    const tflgpu_step *step = &shared->schedule->steps[i];
    wgpuComputePassEncoderSetPipeline(pass, session->pipelines[step->kernel]);
    wgpuComputePassEncoderSetBindGroup(pass, 0, session->bindings[i], 0, NULL);
    wgpuComputePassEncoderDispatchWorkgroups(pass, step->grid[0] / step->group[0],
                                             step->grid[1] / step->group[1],
                                             step->grid[2] / step->group[2]);
  }
  wgpuComputePassEncoderEnd(pass);
  wgpuComputePassEncoderRelease(pass);
  return TFLGPU_OK;
}

/* The queue, which tells when it is done. */
static tflgpu_status mark(tflgpu_session *shared, void **done, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  (void)error;
  submit(session);
  wgpuQueueAddRef(session->queue);
  *done = session->queue;
  return TFLGPU_OK;
}

static tflgpu_status finish(tflgpu_session *shared, tflgpu_error *error) {
  webgpu_session *session = webgpu(shared);
  const WGPUQueueWorkDoneCallbackInfo callback = {
      .mode = WGPUCallbackMode_AllowProcessEvents, .callback = done, .userdata1 = session};
  tflgpu_status status;
  submit(session);
  session->awaited++;
  wgpuQueueOnSubmittedWorkDone(session->queue, callback);
  settle(session);
  status = failure(session, "running the kernels", error);
  while (session->downloads) {
    download *copy = session->downloads;
    const void *content =
        status ? NULL : wgpuBufferGetConstMappedRange(copy->staging, 0, whole_words(copy->size));
    if (content) memcpy(copy->to, content, (size_t)copy->size);
    session->downloads = copy->next;
    release(shared, copy->staging);
    free(copy);
  }
  return status;
}

const tflgpu_backend tflgpu_webgpu =
    TFLGPU_BACKEND(webgpu_session, .leave = leave, .bind = bind_steps);
