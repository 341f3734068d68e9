/* The runtime for OpenCL: the same file for every model. See tflgpu.h.
 *
 * The driver is loaded while the program runs, so that nothing of OpenCL is needed to build it. */
#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "tflgpu_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif
#endif

/* -- OpenCL, as in Khronos' headers --------------------------------------------------------- */

typedef void *cl_object; /* a platform, device, context, queue, program, kernel or buffer */
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;

enum {
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_NAME = 0x102B,
  CL_DEVICE_VENDOR = 0x102C,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_PLATFORM = 0x1031,
  CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
  CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT = 0x103A,
  CL_DEVICE_IMAGE_MAX_BUFFER_SIZE = 0x1040,
  CL_DEVICE_SVM_CAPABILITIES = 0x1053,
  CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES = 0x1063,
  CL_PLATFORM_NAME = 0x0902,
  CL_PLATFORM_VERSION = 0x0901,
  CL_QUEUE_CONTEXT = 0x1090,
  CL_QUEUE_DEVICE = 0x1091,
  CL_QUEUE_PROPERTIES = 0x1093,
  CL_MEM_SIZE = 0x1102,
  CL_MEM_HOST_PTR = 0x1103,
  CL_MEM_USES_SVM_POINTER = 0x1109,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_BUFFER_CREATE_TYPE_REGION = 0x1220,
  CL_KERNEL_NUM_ARGS = 0x1191,
  CL_RGBA = 0x10B5,
  CL_HALF_FLOAT = 0x10DD,
  CL_FLOAT = 0x10DE,
  CL_MEM_OBJECT_IMAGE1D_BUFFER = 0x10F6
};

#define CL_DEVICE_TYPE_CPU 2u
#define CL_DEVICE_TYPE_GPU 4u
#define CL_DEVICE_TYPE_ACCELERATOR 8u
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu
#define CL_QUEUE_OUT_OF_ORDER 1u
#define CL_MEM_READ_WRITE 1u
#define CL_MEM_READ_ONLY 4u
#define CL_MEM_USE_HOST_PTR 8u
#define CL_MEM_ALLOC_HOST_PTR 16u
#define CL_MEM_COPY_HOST_PTR 32u
#define CL_DEVICE_SVM_COARSE_GRAIN_BUFFER 1u
/* Acquire and release order across all work-groups of a launch. */
#define CL_ATOMICS_ORDERED 0x22u

/* The platform on which launches that work on pieces of buffers are slow, seen in 580.159: kernels
   get addresses in shared virtual memory instead. */
static const char slow_pieces[] = "NVIDIA CUDA";

typedef struct image_format {
  cl_uint order, type;
} image_format;

typedef struct image_description {
  cl_uint type;
  size_t width, height, depth, array_size, row_pitch, slice_pitch;
  cl_uint mip_levels, samples;
  cl_object buffer;
} image_description;

/* X(result, name without cl, parameters) */
#define CL_FUNCTIONS(X)                                                                           \
  X(cl_int, GetPlatformIDs, (cl_uint, cl_object *, cl_uint *))                                    \
  X(cl_int, GetPlatformInfo, (cl_object, cl_uint, size_t, void *, size_t *))                      \
  X(cl_int, GetDeviceIDs, (cl_object, cl_bitfield, cl_uint, cl_object *, cl_uint *))              \
  X(cl_int, GetDeviceInfo, (cl_object, cl_uint, size_t, void *, size_t *))                        \
  X(cl_object, CreateContext,                                                                     \
    (const intptr_t *, cl_uint, const cl_object *, void *, void *, cl_int *))                     \
  X(cl_int, ReleaseContext, (cl_object))                                                          \
  X(cl_object, CreateCommandQueue, (cl_object, cl_object, cl_bitfield, cl_int *))                 \
  X(cl_int, RetainContext, (cl_object))                                                           \
  X(cl_int, RetainCommandQueue, (cl_object))                                                      \
  X(cl_int, GetCommandQueueInfo, (cl_object, cl_uint, size_t, void *, size_t *))                  \
  X(cl_int, ReleaseCommandQueue, (cl_object))                                                     \
  X(cl_object, CreateBuffer, (cl_object, cl_bitfield, size_t, void *, cl_int *))                  \
  X(cl_object, CreateSubBuffer, (cl_object, cl_bitfield, cl_uint, const void *, cl_int *))        \
  X(cl_int, ReleaseMemObject, (cl_object))                                                        \
  X(cl_object, CreateProgramWithSource,                                                           \
    (cl_object, cl_uint, const char **, const size_t *, cl_int *))                                \
  X(cl_object, CreateProgramWithBinary,                                                           \
    (cl_object, cl_uint, const cl_object *, const size_t *, const unsigned char **, cl_int *,     \
     cl_int *))                                                                                   \
  X(cl_int, BuildProgram, (cl_object, cl_uint, const cl_object *, const char *, void *, void *))  \
  X(cl_int, GetProgramBuildInfo, (cl_object, cl_object, cl_uint, size_t, void *, size_t *))       \
  X(cl_int, GetProgramInfo, (cl_object, cl_uint, size_t, void *, size_t *))                       \
  X(cl_int, ReleaseProgram, (cl_object))                                                          \
  X(cl_object, CreateKernel, (cl_object, const char *, cl_int *))                                 \
  X(cl_int, GetKernelInfo, (cl_object, cl_uint, size_t, void *, size_t *))                        \
  X(cl_int, SetKernelArg, (cl_object, cl_uint, size_t, const void *))                             \
  X(cl_int, ReleaseKernel, (cl_object))                                                           \
  X(cl_int, EnqueueNDRangeKernel,                                                                 \
    (cl_object, cl_object, cl_uint, const size_t *, const size_t *, const size_t *, cl_uint,      \
     const cl_object *, cl_object *))                                                             \
  X(cl_int, EnqueueWriteBuffer,                                                                   \
    (cl_object, cl_object, cl_uint, size_t, size_t, const void *, cl_uint, const cl_object *,     \
     cl_object *))                                                                                \
  X(cl_int, EnqueueReadBuffer,                                                                    \
    (cl_object, cl_object, cl_uint, size_t, size_t, void *, cl_uint, const cl_object *,           \
     cl_object *))                                                                                \
  X(cl_int, EnqueueFillBuffer,                                                                    \
    (cl_object, cl_object, const void *, size_t, size_t, size_t, cl_uint, const cl_object *,      \
     cl_object *))                                                                                \
  X(cl_int, EnqueueMarkerWithWaitList, (cl_object, cl_uint, const cl_object *, cl_object *))      \
  X(cl_int, GetMemObjectInfo, (cl_object, cl_uint, size_t, void *, size_t *))                     \
  X(cl_int, Flush, (cl_object))                                                                   \
  X(cl_int, Finish, (cl_object))

/* Those that older drivers lack: images of buffers need OpenCL 1.2, shared memory needs 2.0. */
#define CL_NEWER_FUNCTIONS(X)                                                                     \
  X(cl_object, CreateImage,                                                                       \
    (cl_object, cl_bitfield, const image_format *, const image_description *, void *, cl_int *))  \
  X(void *, SVMAlloc, (cl_object, cl_bitfield, size_t, cl_uint))                                  \
  X(void, SVMFree, (cl_object, void *))                                                           \
  X(cl_int, SetKernelArgSVMPointer, (cl_object, cl_uint, const void *))

typedef struct driver {
  CL_FUNCTIONS(TFLGPU_MEMBER)
  CL_NEWER_FUNCTIONS(TFLGPU_MEMBER)
  void *library;
} driver;

typedef struct opencl_session {
  tflgpu_session shared;
  driver cl;
  cl_object device, queue, program;
  int addressed; /* whether kernels get addresses instead of pieces of buffers */
  cl_object *kernels;   /* of each step */
  cl_object *counters;  /* the buffer of each step that is a persistent kernel, else NULL */
  cl_object (*pieces)[2]; /* a sub-buffer and an image for each argument, NULL where not needed */
} opencl_session;

static opencl_session *opencl(tflgpu_session *session) { return (opencl_session *)session; }

/* -- errors --------------------------------------------------------------------------------- */

static tflgpu_status driver_failed(tflgpu_error *error, const char *what, cl_int code) {
  /* Out of resources and out of host memory, and allocations that failed. */
  int memory = code == -4 || code == -5 || code == -6;
  return tflgpu_fail(error, memory ? TFLGPU_OUT_OF_MEMORY : TFLGPU_DRIVER_ERROR,
                     "%s failed with OpenCL's error %d", what, (int)code);
}

/* Returns from the function if a call of the driver fails. */
#define TRY(call, what)                                              \
  do {                                                               \
    cl_int code_ = (call);                                           \
    if (code_) return driver_failed(error, what, code_);             \
  } while (0)

/* -- the driver ----------------------------------------------------------------------------- */

static const char *const libraries[] = {
#ifdef _WIN32
    "OpenCL.dll",
#else
    "libOpenCL.so.1",
    "libOpenCL.so",
    /* Android: names that `uses-native-library` allows, then where vendors put their drivers. */
    "libOpenCL-pixel.so",
    "/vendor/lib64/libOpenCL.so",
    "/system/vendor/lib64/libOpenCL.so",
    "/vendor/lib64/egl/libGLES_mali.so",
    "/vendor/lib/libOpenCL.so",
    "/system/vendor/lib/libOpenCL.so",
    "/vendor/lib/egl/libGLES_mali.so",
#endif
};

static tflgpu_status load_driver(driver *cl, tflgpu_error *error) {
  const char *missing = NULL;
  cl->library = tflgpu_open_library(libraries, sizeof libraries / sizeof *libraries);
  if (!cl->library)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "there is no %s; install an OpenCL driver",
                       libraries[0]);
#define FIND(result, function, parameters) \
  tflgpu_find_symbol(cl->library, "cl" #function, &cl->function);
#define REQUIRE(result, function, parameters) \
  if (!cl->function) missing = "cl" #function;
  CL_FUNCTIONS(FIND)
  CL_FUNCTIONS(REQUIRE)
  CL_NEWER_FUNCTIONS(FIND)
#undef FIND
#undef REQUIRE
  if (missing)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "the OpenCL driver has no %s; it is older than 1.2",
                       missing);
  return TFLGPU_OK;
}

static uint64_t number(const driver *cl, cl_object device, cl_uint name) {
  uint64_t value = 0; /* little-endian, as all devices with OpenCL are: narrower answers fit */
  return cl->GetDeviceInfo(device, name, sizeof value, &value, NULL) ? 0 : value;
}

static void text(const driver *cl, cl_object device, cl_uint name, char *to, size_t size) {
  memset(to, 0, size);
  if (cl->GetDeviceInfo(device, name, size - 1, to, NULL)) to[0] = '\0';
}

static cl_object platform_of(const driver *cl, cl_object device) {
  cl_object platform = NULL;
  cl->GetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  return platform;
}

/* What a device's platform says. */
static void platform_text(const driver *cl, cl_object device, cl_uint name, char *to, size_t size) {
  const cl_object platform = platform_of(cl, device);
  memset(to, 0, size);
  if (!platform || cl->GetPlatformInfo(platform, name, size - 1, to, NULL)) to[0] = '\0';
}

/* Greater is better: discrete GPUs, other GPUs, then accelerators, then processors. */
static int preference(const driver *cl, cl_object device) {
  uint64_t type = number(cl, device, CL_DEVICE_TYPE);
  int unified = number(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  return 2 * (type & CL_DEVICE_TYPE_GPU ? 2 : type & CL_DEVICE_TYPE_CPU ? 0 : 1) + !unified;
}

/* What is searched for the name of a wanted device: PLATFORM (VERSION): NAME. */
static void describe(const driver *cl, cl_object device, char *to, size_t size) {
  char platform[256], version[256], name[256];
  platform_text(cl, device, CL_PLATFORM_NAME, platform, sizeof platform);
  platform_text(cl, device, CL_PLATFORM_VERSION, version, sizeof version);
  text(cl, device, CL_DEVICE_NAME, name, sizeof name);
  snprintf(to, size, "%s (%s): %s", platform, version, name);
}

static tflgpu_status choose_device(opencl_session *session, const char *wanted,
                                   tflgpu_error *error) {
  enum { MOST = 32 };
  const driver *cl = &session->cl;
  cl_object platforms[MOST], devices[MOST];
  cl_uint platform_count = 0, device_count, i, j;
  int best = -1;
  if (cl->GetPlatformIDs(MOST, platforms, &platform_count)) platform_count = 0;
  for (i = 0; i < platform_count && i < MOST; i++) {
    device_count = 0;
    if (cl->GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST, devices, &device_count)) continue;
    for (j = 0; j < device_count && j < MOST; j++) {
      char description[800];
      int rank = preference(cl, devices[j]);
      if (!number(cl, devices[j], CL_DEVICE_COMPILER_AVAILABLE) || rank <= best) continue;
      describe(cl, devices[j], description, sizeof description);
      if (wanted && !tflgpu_contains(description, wanted)) continue;
      best = rank;
      session->device = devices[j];
    }
  }
  return best >= 0 ? TFLGPU_OK : tflgpu_no_device(error, "OpenCL", wanted, " that can compile");
}

/* The context and device of the caller's queue, which must run commands in order. */
static tflgpu_status borrow_queue(opencl_session *session, cl_object queue, tflgpu_error *error) {
  const driver *cl = &session->cl;
  cl_object context = NULL;
  cl_bitfield properties = 0;
  TRY(cl->GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL),
      "asking for the context of options.cl_queue");
  TRY(cl->GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof session->device, &session->device,
                              NULL),
      "asking for the device of options.cl_queue");
  TRY(cl->GetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL),
      "asking for the properties of options.cl_queue");
  if (properties & CL_QUEUE_OUT_OF_ORDER)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "options.cl_queue runs commands in any order; make one without "
                       "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE");
  TRY(cl->RetainContext(context), "keeping the context of options.cl_queue");
  session->shared.context = context;
  TRY(cl->RetainCommandQueue(queue), "keeping options.cl_queue");
  session->queue = queue;
  return TFLGPU_OK;
}

#ifdef __linux__
/* Lowers a number of processors to the time per time that a container may use, if files of its
 * control group say so: PATHS[0] holds both numbers, or only the first of them. */
static void lower_to_quota(long *count, const char *const paths[2]) {
  long long numbers[2] = {0, 0};
  int i, known = 0;
  for (i = 0; i < 2 && known < 2 && paths[i]; i++) {
    FILE *file = fopen(paths[i], "r");
    if (!file) return;
    while (known < 2 && fscanf(file, "%lld", &numbers[known]) == 1) known++;
    fclose(file);
  }
  if (known == 2 && numbers[0] > 0 && numbers[1] > 0 && numbers[0] / numbers[1] < *count)
    *count = (long)(numbers[0] / numbers[1]);
}
#endif

/* The processors that this process may use, given its affinity and its container's quota. */
static uint32_t usable_processors(void) {
  long count = 0;
#if defined(_WIN32)
  DWORD_PTR own = 0, all = 0;
  for (GetProcessAffinityMask(GetCurrentProcess(), &own, &all); own; own &= own - 1) count++;
#else
  count = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  {
    static const char *const version_2[] = {"/sys/fs/cgroup/cpu.max", NULL};
    static const char *const version_1[] = {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
                                            "/sys/fs/cgroup/cpu/cpu.cfs_period_us"};
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) count = CPU_COUNT(&set);
    lower_to_quota(&count, version_2);
    lower_to_quota(&count, version_1);
  }
#endif
#endif
  return count > 0 ? (uint32_t)count : 1;
}

/* The work-groups of a persistent kernel wait for each other, so that all must run at once. */
static uint32_t resident_groups(opencl_session *session) {
  uint64_t order = number(&session->cl, session->device, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES);
  uint64_t units = number(&session->cl, session->device, CL_DEVICE_MAX_COMPUTE_UNITS);
  uint32_t usable = usable_processors();
  if (!session->shared.device.on_processor || (order & CL_ATOMICS_ORDERED) != CL_ATOMICS_ORDERED)
    return 0;
  return units < usable ? (uint32_t)units : usable;
}

/* A PoCL older than Zen 4 takes that for a Zen 3 with vectors twice as wide, and aborts on
 * these. */
static uint32_t usable_lanes(opencl_session *session) {
  uint32_t lanes =
      (uint32_t)number(&session->cl, session->device, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
  char version[256];
  size_t length;
  text(&session->cl, session->device, CL_DEVICE_VERSION, version, sizeof version);
  for (length = strlen(version); length && version[length - 1] == ' ';) version[--length] = '\0';
  if (lanes > 8 && length > 5 && !strncmp(version + length - 6, "znver", 5) &&
      strchr("123", version[length - 1]))
    lanes = 8;
  return lanes;
}

static void read_limits(opencl_session *session) {
  const driver *cl = &session->cl;
  const cl_object device = session->device;
  tflgpu_limits *limits = &session->shared.device.limits;
  size_t sizes[8] = {0};
  int axis;
  cl->GetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL);
  limits->alignment = (uint32_t)number(cl, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  limits->group = (uint32_t)number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  for (axis = 0; axis < 3; axis++) {
    limits->group_sizes[axis] = sizes[axis] < UINT32_MAX ? (uint32_t)sizes[axis] : UINT32_MAX;
    limits->group_counts[axis] = UINT32_MAX;
  }
  limits->local_memory = (uint32_t)number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
  limits->arguments = UINT32_MAX;
  limits->argument_size = limits->buffer_size = number(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  /* Mesa's, as of 25.0, lets images of a part of a buffer begin where the buffer does. */
  if (cl->CreateImage && strcmp(session->shared.device.platform, "rusticl"))
    limits->image_texels = number(cl, device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
}

static void describe_device(opencl_session *session) {
  const driver *cl = &session->cl;
  tflgpu_device *device = &session->shared.device;
  uint64_t type = number(cl, session->device, CL_DEVICE_TYPE);
  device->type = type & CL_DEVICE_TYPE_GPU           ? "gpu"
                 : type & CL_DEVICE_TYPE_ACCELERATOR ? "accelerator"
                 : type & CL_DEVICE_TYPE_CPU         ? "cpu"
                                                     : "other";
  text(cl, session->device, CL_DEVICE_NAME, device->name, sizeof device->name);
  text(cl, session->device, CL_DEVICE_VENDOR, device->vendor, sizeof device->vendor);
  platform_text(cl, session->device, CL_PLATFORM_NAME, device->platform, sizeof device->platform);
  device->on_processor = type & CL_DEVICE_TYPE_CPU &&
                         number(cl, session->device, CL_DEVICE_HOST_UNIFIED_MEMORY);
  session->addressed = cl->SVMAlloc && cl->SVMFree && cl->SetKernelArgSVMPointer &&
                       !strcmp(device->platform, slow_pieces) &&
                       number(cl, session->device, CL_DEVICE_SVM_CAPABILITIES) &
                           CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
  device->lanes = usable_lanes(session);
  device->resident_groups = resident_groups(session);
  read_limits(session);
}

static int has_extension(tflgpu_session *shared, const char *extension) {
  const opencl_session *session = opencl(shared);
  size_t size = 0;
  char *all;
  int found;
  if (session->cl.GetDeviceInfo(session->device, CL_DEVICE_EXTENSIONS, 0, NULL, &size)) return 0;
  all = (char *)calloc(size + 1, 1);
  found = all &&
          !session->cl.GetDeviceInfo(session->device, CL_DEVICE_EXTENSIONS, size, all, NULL) &&
          tflgpu_lists(all, extension);
  free(all);
  return found;
}

static void find(tflgpu_session *shared, const char *name, void *function) {
  const opencl_session *session = opencl(shared);
  const cl_object platform = platform_of(&session->cl, session->device);
  void *(TFLGPU_CALL *extension)(cl_object, const char *), *found = NULL;
  tflgpu_find_symbol(session->cl.library, name, function);
  tflgpu_find_symbol(session->cl.library, "clGetExtensionFunctionAddressForPlatform", &extension);
  if (memcmp(function, &found, sizeof found) || !extension || !platform) return;
  found = extension(platform, name);
  memcpy(function, &found, sizeof found);
}

/* PoCL's compiler assembles instructions even if it takes the processor for an older one. */
static int has_instruction(tflgpu_session *shared, const char *instruction) {
  char line[4096];
  if (strcmp(shared->device.type, "cpu") ||
      strcmp(shared->device.platform, "Portable Computing Language"))
    return 0;
  tflgpu_instructions(line, sizeof line);
  return tflgpu_lists(line, instruction);
}

/* -- compiled kernels ----------------------------------------------------------------------- */

static uint32_t identify(tflgpu_session *shared, uint32_t crc) {
  static const cl_uint asked[] = {CL_DEVICE_NAME, CL_DRIVER_VERSION, CL_DEVICE_VERSION};
  const opencl_session *session = opencl(shared);
  const driver *cl = &session->cl;
  char answer[1024];
  size_t i;
  for (i = 0; i < sizeof asked / sizeof *asked; i++) {
    text(cl, session->device, asked[i], answer, sizeof answer);
    crc = tflgpu_crc32(crc, answer, strlen(answer) + 1);
  }
  platform_text(cl, session->device, CL_PLATFORM_VERSION, answer, sizeof answer);
  return tflgpu_crc32(crc, answer, strlen(answer));
}

/* OpenCL's status. */
static cl_int build(opencl_session *session) {
  /* Kernels use an instruction where a macro of its name is defined. */
  static const char *const instructions[][2] = {
      {"avx512_vnni", " -D AVX512_VNNI"}, {"avx512bw", " -D AVX512BW"},
      {"avx512vbmi", " -D AVX512VBMI"},   {"avx_vnni", " -D AVX_VNNI"},
      {"avx2", " -D AVX2"},               {"i8mm", " -D I8MM"},
      {"asimddp", " -D ASIMDDP"}};
  char options[512];
  size_t i;
  snprintf(options, sizeof options, "%s", session->shared.schedule->options);
  for (i = 0; i < sizeof instructions / sizeof *instructions; i++)
    if (has_instruction(&session->shared, instructions[i][0]) &&
        strlen(options) + strlen(instructions[i][1]) < sizeof options)
      strcat(options, instructions[i][1]);
  return session->cl.BuildProgram(session->program, 1, &session->device, options, NULL, NULL);
}

static int restore(tflgpu_session *shared, const unsigned char *binary, size_t size) {
  opencl_session *session = opencl(shared);
  cl_int code = 0, status = 0;
  session->program = session->cl.CreateProgramWithBinary(
      shared->context, 1, &session->device, &size, &binary, &status, &code);
  return session->program && !code && !status && !build(session);
}

static unsigned char *read_binary(tflgpu_session *shared, size_t *size) {
  const opencl_session *session = opencl(shared);
  const driver *cl = &session->cl;
  unsigned char *content;
  if (cl->GetProgramInfo(session->program, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL) ||
      !*size)
    return NULL;
  content = (unsigned char *)malloc(*size);
  if (content &&
      cl->GetProgramInfo(session->program, CL_PROGRAM_BINARIES, sizeof content, &content, NULL)) {
    free(content);
    content = NULL;
  }
  return content;
}

static tflgpu_status compile(tflgpu_session *shared, tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  const driver *cl = &session->cl;
  const tflgpu_schedule *schedule = shared->schedule;
  cl_int code = 0;
  /* OpenCL takes pieces that it does not change. */
  session->program = cl->CreateProgramWithSource(
      shared->context, schedule->source_count, (const char **)(uintptr_t)schedule->source, NULL,
      &code);
  if (!session->program) return driver_failed(error, "passing the kernels to the compiler", code);
  code = build(session);
  if (code) {
    char log[sizeof error->message] = "";
    /* Drivers leave out a longer log, and have none of a compiler that did not begin. */
    if (cl->GetProgramBuildInfo(session->program, session->device, CL_PROGRAM_BUILD_LOG,
                                sizeof log - 1, log, NULL) ||
        !*log)
      snprintf(log, sizeof log, "OpenCL's error %d, with no log or one too long", (int)code);
    return tflgpu_fail(error, TFLGPU_BUILD_FAILED, "%s rejects the kernels of %s:\n%s",
                       shared->device.name, shared->model->name, log);
  }
  return TFLGPU_OK;
}

/* -- memory --------------------------------------------------------------------------------- */

/* The address of a buffer for kernels, if they get addresses and it is in shared virtual memory. */
static char *address_of(const opencl_session *session, cl_object buffer) {
  const driver *cl = &session->cl;
  cl_uint shared = 0;
  void *address = NULL;
  if (!session->addressed ||
      cl->GetMemObjectInfo(buffer, CL_MEM_USES_SVM_POINTER, sizeof shared, &shared, NULL) ||
      !shared || cl->GetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof address, &address, NULL))
    return NULL;
  return (char *)address;
}

/* A buffer in shared virtual memory; NULL if the driver has none for it. */
static cl_object shared_buffer(const opencl_session *session, size_t size, const void *content) {
  const driver *cl = &session->cl;
  void *address = cl->SVMAlloc(session->shared.context, CL_MEM_READ_WRITE, size, 0);
  cl_object buffer;
  cl_int code = 0;
  if (!address) return NULL;
  buffer = cl->CreateBuffer(session->shared.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, size,
                            address, &code);
  if (buffer && (!content || !cl->EnqueueWriteBuffer(session->queue, buffer, 1, 0, size, content, 0,
                                                     NULL, NULL)))
    return buffer;
  if (buffer) cl->ReleaseMemObject(buffer);
  cl->SVMFree(session->shared.context, address);
  return NULL;
}

static tflgpu_status allocate(tflgpu_session *shared, uint64_t size, const void *content,
                              void **buffer, tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  cl_bitfield flags = CL_MEM_READ_WRITE;
  cl_int code = 0;
  if (session->addressed && (*buffer = shared_buffer(session, (size_t)size, content)))
    return TFLGPU_OK;
  if (content) /* a processor reads it where it is */
    flags = CL_MEM_READ_ONLY | (shared->device.on_processor && (uintptr_t)content % 64 == 0
                                    ? CL_MEM_USE_HOST_PTR
                                    : CL_MEM_COPY_HOST_PTR);
  else if (shared->device.on_processor) /* PoCL would allocate at first use, and exit if it fails */
    flags |= CL_MEM_ALLOC_HOST_PTR;
  *buffer = session->cl.CreateBuffer(shared->context, flags, (size_t)size,
                                     (void *)(uintptr_t)content, &code);
  return *buffer ? TFLGPU_OK : driver_failed(error, "allocating a buffer", code);
}

static void release(tflgpu_session *shared, void *buffer) {
  const opencl_session *session = opencl(shared);
  char *address = address_of(session, buffer);
  if (address) session->cl.Finish(session->queue); /* what runs may still use it */
  session->cl.ReleaseMemObject(buffer);
  if (address) session->cl.SVMFree(shared->context, address);
}

static tflgpu_status buffer_size(tflgpu_session *shared, void *buffer, uint64_t *size,
                                 tflgpu_error *error) {
  size_t bytes = 0;
  TRY(opencl(shared)->cl.GetMemObjectInfo(buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL),
      "asking for the size of a buffer");
  *size = bytes;
  return TFLGPU_OK;
}

static tflgpu_status write_buffer(tflgpu_session *shared, void *buffer, const void *from,
                                  uint64_t size, tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  TRY(session->cl.EnqueueWriteBuffer(session->queue, buffer, 0, 0, (size_t)size, from, 0, NULL,
                                     NULL),
      "copying to a buffer");
  return TFLGPU_OK;
}

static tflgpu_status read_buffer(tflgpu_session *shared, void *buffer, void *to, uint64_t size,
                                 tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  TRY(session->cl.EnqueueReadBuffer(session->queue, buffer, 0, 0, (size_t)size, to, 0, NULL, NULL),
      "copying from a buffer");
  return TFLGPU_OK;
}

static tflgpu_status clear(tflgpu_session *shared, void *buffer, uint64_t size,
                           tflgpu_error *error) {
  static const cl_int zero = 0;
  opencl_session *session = opencl(shared);
  TRY(session->cl.EnqueueFillBuffer(session->queue, buffer, &zero, sizeof zero, 0, (size_t)size, 0,
                                    NULL, NULL),
      "clearing a buffer");
  return TFLGPU_OK;
}

/* -- binding kernels to memory -------------------------------------------------------------- */

static void release_pieces(opencl_session *session, uint32_t argument) {
  int i;
  for (i = 1; i >= 0; i--) /* the image before its buffer */
    if (session->pieces[argument][i]) {
      session->cl.ReleaseMemObject(session->pieces[argument][i]);
      session->pieces[argument][i] = NULL;
    }
}

/* Puts the piece of a region's buffer that an argument is, if it is not the whole, in its place. */
static tflgpu_status take_piece(opencl_session *session, uint32_t index, cl_object *memory,
                                tflgpu_error *error) {
  const driver *cl = &session->cl;
  const tflgpu_argument *argument = &session->shared.schedule->arguments[index];
  size_t span[2];
  cl_int code = 0;
  /* Drivers make no empty pieces; a kernel never reads an empty argument. */
  if (!argument->whole && argument->size) {
    span[0] = (size_t)argument->offset;
    span[1] = (size_t)argument->size;
    *memory = cl->CreateSubBuffer(*memory, 0, CL_BUFFER_CREATE_TYPE_REGION, span, &code);
    if (!*memory) return driver_failed(error, "taking a piece of a buffer", code);
    session->pieces[index][0] = *memory;
  }
  if (argument->texel) {
    image_format format;
    image_description description;
    memset(&description, 0, sizeof description);
    format.order = CL_RGBA;
    format.type = argument->texel == 16 ? CL_FLOAT : CL_HALF_FLOAT;
    description.type = CL_MEM_OBJECT_IMAGE1D_BUFFER;
    description.width = (size_t)(argument->size / argument->texel);
    description.buffer = *memory;
    *memory = cl->CreateImage(session->shared.context, CL_MEM_READ_ONLY, &format, &description,
                              NULL, &code);
    if (!*memory && !argument->whole) /* such as PoCL */
      return tflgpu_fail(error, TFLGPU_UNFIT_DEVICE,
                         "%s makes no images of pieces of buffers (error %d): compile the model "
                         "for a device without images",
                         session->shared.device.name, (int)code);
    if (!*memory) return driver_failed(error, "taking a buffer as an image", code);
    session->pieces[index][1] = *memory;
  }
  return TFLGPU_OK;
}

static tflgpu_status bind_argument(opencl_session *session, uint32_t step, uint32_t index,
                                   tflgpu_error *error) {
  const tflgpu_step *launched = &session->shared.schedule->steps[step];
  const cl_uint position = index - launched->first_argument + (launched->counters != 0);
  const tflgpu_argument *argument = &session->shared.schedule->arguments[index];
  cl_object memory = tflgpu_buffer(&session->shared, argument);
  char *address = argument->whole || argument->texel ? NULL : address_of(session, memory);
  tflgpu_status status;
  release_pieces(session, index);
  if (address) {
    TRY(session->cl.SetKernelArgSVMPointer(session->kernels[step], position,
                                           address + argument->offset),
        "binding an address");
    return TFLGPU_OK;
  }
  if ((status = take_piece(session, index, &memory, error))) return status;
  TRY(session->cl.SetKernelArg(session->kernels[step], position, sizeof memory, &memory),
      "binding an argument");
  return TFLGPU_OK;
}

static tflgpu_status bind_counters(opencl_session *session, uint32_t index, tflgpu_error *error) {
  cl_object *counters = &session->counters[index];
  uint32_t size = session->shared.schedule->steps[index].counters;
  tflgpu_status status;
  if (!size) return TFLGPU_OK;
  if ((status = allocate(&session->shared, size, NULL, counters, error)) ||
      (status = clear(&session->shared, *counters, size, error)))
    return status;
  TRY(session->cl.SetKernelArg(session->kernels[index], 0, sizeof *counters, counters),
      "binding the counters");
  return TFLGPU_OK;
}

/* A kernel object for each step, since arguments belong to the kernel object. */
static tflgpu_status create_kernel(opencl_session *session, uint32_t index, tflgpu_error *error) {
  const driver *cl = &session->cl;
  const tflgpu_schedule *schedule = session->shared.schedule;
  const tflgpu_step *step = &schedule->steps[index];
  const char *name = schedule->kernels[step->kernel].name;
  const cl_uint wanted = step->argument_count + (step->counters != 0);
  cl_uint taken = 0;
  cl_int code = 0;
  session->kernels[index] = cl->CreateKernel(session->program, name, &code);
  if (!session->kernels[index]) return driver_failed(error, name, code);
  TRY(cl->GetKernelInfo(session->kernels[index], CL_KERNEL_NUM_ARGS, sizeof taken, &taken, NULL),
      "asking for the parameters of a kernel");
  if (taken != wanted)
    return tflgpu_fail(error, TFLGPU_BUILD_FAILED, "kernel %s has %u parameters instead of %u",
                       name, (unsigned)taken, (unsigned)wanted);
  return bind_counters(session, index, error);
}

static tflgpu_status bind_step(opencl_session *session, uint32_t index, tflgpu_error *error) {
  const tflgpu_step *step = &session->shared.schedule->steps[index];
  tflgpu_status status;
  uint32_t i;
  if (!session->kernels[index] && (status = create_kernel(session, index, error))) return status;
  for (i = 0; i < step->argument_count; i++)
    if ((status = bind_argument(session, index, step->first_argument + i, error))) return status;
  return TFLGPU_OK;
}

static uint32_t argument_count(const tflgpu_schedule *schedule) {
  const tflgpu_step *last = schedule->steps + schedule->step_count - 1;
  return schedule->step_count ? last->first_argument + last->argument_count : 0;
}

static tflgpu_status bind_steps(tflgpu_session *shared, const void *buffer, tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  const uint32_t steps = shared->schedule->step_count;
  uint32_t i;
  tflgpu_status status;
  if (!buffer) {
    session->kernels = (cl_object *)calloc(steps + 1u, sizeof *session->kernels);
    session->counters = (cl_object *)calloc(steps + 1u, sizeof *session->counters);
    session->pieces = (cl_object(*)[2])calloc(argument_count(shared->schedule) + 1u,
                                              sizeof *session->pieces);
    if (!session->kernels || !session->counters || !session->pieces)
      return tflgpu_out_of_memory(error);
  }
  for (i = 0; i < steps; i++)
    if (tflgpu_binds(shared, i, buffer) && (status = bind_step(session, i, error))) return status;
  return TFLGPU_OK;
}

static void discard(tflgpu_session *shared) {
  opencl_session *session = opencl(shared);
  const driver *cl = &session->cl;
  uint32_t i;
  for (i = 0; i < shared->schedule->step_count; i++) {
    if (session->kernels && session->kernels[i]) cl->ReleaseKernel(session->kernels[i]);
    if (session->counters && session->counters[i]) release(shared, session->counters[i]);
  }
  for (i = 0; session->pieces && i < argument_count(shared->schedule); i++)
    release_pieces(session, i);
  if (session->program) cl->ReleaseProgram(session->program);
  free(session->kernels);
  free(session->counters);
  free(session->pieces);
  session->program = NULL;
  session->kernels = session->counters = NULL;
  session->pieces = NULL;
}

/* -- running -------------------------------------------------------------------------------- */

static tflgpu_status launch(tflgpu_session *shared, tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  const tflgpu_schedule *schedule = shared->schedule;
  size_t grid[3], group[3];
  uint32_t i;
  int axis;
  for (i = 0; i < schedule->step_count; i++) {
    const tflgpu_step *step = &schedule->steps[i];
    for (axis = 0; axis < 3; axis++) {
      grid[axis] = step->grid[axis];
      group[axis] = step->group[axis];
    }
    if (step->counters) grid[0] = shared->device.resident_groups;
    TRY(session->cl.EnqueueNDRangeKernel(session->queue, session->kernels[i], 3, NULL, grid, group,
                                         0, NULL, NULL),
        "launching a kernel");
  }
  return TFLGPU_OK;
}

static tflgpu_status mark(tflgpu_session *shared, void **done, tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  TRY(session->cl.EnqueueMarkerWithWaitList(session->queue, 0, NULL, done),
      "making an event for the end of a run");
  TRY(session->cl.Flush(session->queue), "starting a run");
  return TFLGPU_OK;
}

static tflgpu_status finish(tflgpu_session *shared, tflgpu_error *error) {
  TRY(opencl(shared)->cl.Finish(opencl(shared)->queue), "running the kernels");
  return TFLGPU_OK;
}

/* -- opening and closing -------------------------------------------------------------------- */

static tflgpu_status open_device(tflgpu_session *shared, const tflgpu_options *options,
                                 tflgpu_error *error) {
  opencl_session *session = opencl(shared);
  const driver *cl = &session->cl;
  tflgpu_status status;
  cl_int code = 0;
  status = load_driver(&session->cl, error);
  if (!status)
    status = options->cl_queue ? borrow_queue(session, options->cl_queue, error)
                               : choose_device(session, options->device, error);
  if (status) return status;
  describe_device(session);
  if (session->queue) return TFLGPU_OK;
  shared->context = cl->CreateContext(NULL, 1, &session->device, NULL, NULL, &code);
  if (!shared->context) return driver_failed(error, "opening the device", code);
  session->queue = cl->CreateCommandQueue(shared->context, session->device, 0, &code);
  return session->queue ? TFLGPU_OK : driver_failed(error, "opening a queue", code);
}

static tflgpu_status share_device(tflgpu_session *shared, tflgpu_session *with,
                                  tflgpu_error *error) {
  opencl(shared)->cl = opencl(with)->cl;
  return borrow_queue(opencl(shared), opencl(with)->queue, error);
}

static void close_device(tflgpu_session *shared) {
  opencl_session *session = opencl(shared);
  if (session->queue) session->cl.ReleaseCommandQueue(session->queue);
  if (shared->context) session->cl.ReleaseContext(shared->context);
}

const tflgpu_backend tflgpu_opencl =
    TFLGPU_BACKEND(opencl_session, .find = find, .has_instruction = has_instruction,
                   .identify = identify, .restore = restore, .binary = read_binary,
                   .bind = bind_steps);
