/* The runtime for OpenCL: the same file for every model. See tflgpu.h.
 *
 * The driver is loaded while the program runs, so that nothing of OpenCL is needed to build it.
 *
 *     cc -std=c99 *.c -ldl
 */
#if !defined(_WIN32) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* sched_getaffinity */
#endif

#include "tflgpu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#include <windows.h>
#define CL_CALL __stdcall
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif
#define CL_CALL
#endif

/* -- OpenCL, as in Khronos' headers --------------------------------------------------------- */

typedef void *cl_object; /* a platform, device, context, queue, program, kernel or buffer */
typedef int32_t cl_int;
typedef uint32_t cl_uint;
typedef uint64_t cl_bitfield;

enum {
  CL_DEVICE_NOT_FOUND = -1,
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_NAME = 0x102B,
  CL_DRIVER_VERSION = 0x102D,
  CL_DEVICE_VERSION = 0x102F,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_PLATFORM = 0x1031,
  CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
  CL_DEVICE_IMAGE_MAX_BUFFER_SIZE = 0x1040,
  CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES = 0x1063,
  CL_PLATFORM_NAME = 0x0902,
  CL_PLATFORM_VERSION = 0x0901,
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
#define CL_DEVICE_TYPE_ALL 0xFFFFFFFFu
#define CL_MEM_READ_WRITE 1u
#define CL_MEM_READ_ONLY 4u
#define CL_MEM_USE_HOST_PTR 8u
#define CL_MEM_ALLOC_HOST_PTR 16u
#define CL_MEM_COPY_HOST_PTR 32u
/* Acquire and release order across all work-groups of a launch. */
#define CL_ATOMICS_ORDERED 0x12u

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
  X(cl_int, Finish, (cl_object))

/* Of OpenCL 1.2: kernels that read images need it. */
typedef cl_object(CL_CALL *create_image)(cl_object, cl_bitfield, const image_format *,
                                         const image_description *, void *, cl_int *);

typedef struct driver {
#define MEMBER(result, name, parameters) result(CL_CALL *name) parameters;
  CL_FUNCTIONS(MEMBER)
#undef MEMBER
  create_image CreateImage;
} driver;

struct tflgpu_session {
  const tflgpu_model *model;
  const tflgpu_schedule *schedule;
  driver cl;
  cl_object device, context, queue, program;
  cl_object *kernels;  /* of each step */
  cl_object *buffers;  /* of each region and index, see place() */
  cl_object *pieces;   /* sub-buffers, images and counters */
  size_t piece_count;
  int32_t **words;     /* of each input, then output, narrower than its buffer; else NULL */
  const void *weights;
  void *mapped;        /* the weights' file in memory */
  uint64_t mapped_size;
  int on_host;         /* the device computes in the host's memory */
  uint32_t resident_groups;
  int restored;
  char name[256];
};

/* -- errors --------------------------------------------------------------------------------- */

static tflgpu_status failed(tflgpu_error *error, tflgpu_status status, const char *format, ...) {
  va_list arguments;
  if (error) {
    error->status = status;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

static tflgpu_status driver_failed(tflgpu_error *error, const char *what, cl_int code) {
  /* Out of resources and out of host memory, and allocations that failed. */
  int memory = code == -4 || code == -5 || code == -6;
  return failed(error, memory ? TFLGPU_OUT_OF_MEMORY : TFLGPU_DRIVER_ERROR,
                "%s failed with OpenCL's error %d", what, (int)code);
}

/* Returns from the function if a call of the driver fails. */
#define TRY(call, what)                                              \
  do {                                                               \
    cl_int code_ = (call);                                           \
    if (code_) return driver_failed(error, what, code_);             \
  } while (0)

static tflgpu_status out_of_memory(tflgpu_error *error) {
  return failed(error, TFLGPU_OUT_OF_MEMORY, "the host is out of memory");
}

/* -- the driver ----------------------------------------------------------------------------- */

#ifdef _WIN32
static void *open_library(const char *name) { return (void *)LoadLibraryA(name); }

static void find_symbol(void *library, const char *name, void *function) {
  FARPROC found = GetProcAddress((HMODULE)library, name);
  memcpy(function, &found, sizeof found);
}

static const char *const libraries[] = {"OpenCL.dll"};

/* One of two threads that ask a loader at once may get no device. */
static volatile LONG asking;
static void lock_loader(void) {
  while (InterlockedExchange(&asking, 1)) Sleep(0);
}
static void unlock_loader(void) { InterlockedExchange(&asking, 0); }
#else
static void *open_library(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

static void find_symbol(void *library, const char *name, void *function) {
  void *found = dlsym(library, name);
  memcpy(function, &found, sizeof found); /* C99 has no cast from an object to a function */
}

static const char *const libraries[] = {
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
};

/* One of two threads that ask a loader at once may get no device. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;
static void lock_loader(void) { pthread_mutex_lock(&asking); }
static void unlock_loader(void) { pthread_mutex_unlock(&asking); }
#endif

static tflgpu_status load_driver(driver *cl, tflgpu_error *error) {
  void *library = NULL;
  const char *missing = NULL;
  size_t i;
  for (i = 0; !library && i < sizeof libraries / sizeof *libraries; i++)
    library = open_library(libraries[i]);
  if (!library)
    return failed(error, TFLGPU_NO_DRIVER, "there is no %s; install an OpenCL driver",
                  libraries[0]);
#define FIND(result, function, parameters)            \
  find_symbol(library, "cl" #function, &cl->function); \
  if (!cl->function) missing = "cl" #function;
  CL_FUNCTIONS(FIND)
#undef FIND
  find_symbol(library, "clCreateImage", &cl->CreateImage);
  /* The library stays loaded: drivers do not survive being unloaded. */
  if (missing)
    return failed(error, TFLGPU_NO_DRIVER, "the OpenCL driver has no %s; it is older than 1.2",
                  missing);
  return TFLGPU_OK;
}

static uint64_t number(const driver *cl, cl_object device, cl_uint name) {
  uint64_t value = 0; /* little-endian, as all devices with OpenCL are: narrower answers fit */
  return cl->GetDeviceInfo(device, name, sizeof value, &value, NULL) ? 0 : value;
}

static void text(const driver *cl, cl_object device, cl_uint name, char *to, size_t size) {
  to[0] = '\0';
  if (cl->GetDeviceInfo(device, name, size - 1, to, NULL)) to[0] = '\0';
  to[size - 1] = '\0';
}

/* Greater is better: discrete GPUs, other GPUs, then accelerators, then processors. */
static int preference(const driver *cl, cl_object device) {
  uint64_t type = number(cl, device, CL_DEVICE_TYPE);
  int unified = number(cl, device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  return 2 * (type & CL_DEVICE_TYPE_GPU ? 2 : type & CL_DEVICE_TYPE_CPU ? 0 : 1) + !unified;
}

static tflgpu_status choose_device(tflgpu_session *session, const char *wanted,
                                   tflgpu_error *error) {
  enum { MOST = 32 };
  const driver *cl = &session->cl;
  cl_object platforms[MOST], devices[MOST];
  cl_uint platform_count = 0, device_count, i, j;
  int best = -1;
  if (cl->GetPlatformIDs(MOST, platforms, &platform_count)) platform_count = 0;
  for (i = 0; i < platform_count && i < MOST; i++) {
    char platform[512], version[256];
    platform[0] = version[0] = '\0';
    cl->GetPlatformInfo(platforms[i], CL_PLATFORM_NAME, 255, platform, NULL);
    cl->GetPlatformInfo(platforms[i], CL_PLATFORM_VERSION, sizeof version, version, NULL);
    device_count = 0;
    if (cl->GetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST, devices, &device_count)) continue;
    for (j = 0; j < device_count && j < MOST; j++) {
      char name[256];
      int rank = preference(cl, devices[j]);
      text(cl, devices[j], CL_DEVICE_NAME, name, sizeof name);
      if (!number(cl, devices[j], CL_DEVICE_COMPILER_AVAILABLE) || rank <= best) continue;
      if (wanted && !strstr(name, wanted) && !strstr(platform, wanted) && !strstr(version, wanted))
        continue;
      best = rank;
      session->device = devices[j];
      memcpy(session->name, name, sizeof name);
    }
  }
  if (best >= 0) return TFLGPU_OK;
  if (wanted)
    return failed(error, TFLGPU_NO_DRIVER, "no OpenCL device has \"%s\" in its name", wanted);
  return failed(error, TFLGPU_NO_DRIVER, "there is no OpenCL device that can compile");
}

/* The processors that this process may use. */
static uint32_t usable_processors(void) {
#if defined(_WIN32)
  return UINT32_MAX;
#else
  long count = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) count = CPU_COUNT(&set);
#endif
  return count > 0 ? (uint32_t)count : 1;
#endif
}

/* The work-groups of a persistent kernel wait for each other, so that all must run at once. */
static void choose_schedule(tflgpu_session *session) {
  const driver *cl = &session->cl;
  const tflgpu_model *model = session->model;
  int processor = (number(cl, session->device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
  uint64_t order = number(cl, session->device, CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES);
  uint32_t units = (uint32_t)number(cl, session->device, CL_DEVICE_MAX_COMPUTE_UNITS);
  uint32_t usable = usable_processors();
  session->on_host =
      processor && number(cl, session->device, CL_DEVICE_HOST_UNIFIED_MEMORY) != 0;
  session->resident_groups = units && units < usable ? units : usable;
  session->schedule = model->dispatches;
  if (model->persistent && session->on_host && units &&
      (order & CL_ATOMICS_ORDERED) == CL_ATOMICS_ORDERED)
    session->schedule = model->persistent;
}

static int has_extension(tflgpu_session *session, const char *extension) {
  size_t size = 0, length = strlen(extension);
  char *all, *place;
  int found = 0;
  if (session->cl.GetDeviceInfo(session->device, CL_DEVICE_EXTENSIONS, 0, NULL, &size)) return 0;
  all = (char *)calloc(size + 1, 1);
  if (all && !session->cl.GetDeviceInfo(session->device, CL_DEVICE_EXTENSIONS, size, all, NULL))
    for (place = all; !found && (place = strstr(place, extension)) != NULL; place += length)
      found = (place == all || place[-1] == ' ') && (!place[length] || place[length] == ' ');
  free(all);
  return found;
}

static tflgpu_status check_device(tflgpu_session *session, tflgpu_error *error) {
  const driver *cl = &session->cl;
  const tflgpu_model *model = session->model;
  cl_object device = session->device;
  const char *name = session->name;
  uint64_t largest = number(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  uint64_t alignment = number(cl, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
  size_t limits[8] = {0};
  int axis;
  cl->GetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof limits, limits, NULL);
  if (alignment && model->alignment % alignment)
    return failed(error, TFLGPU_UNFIT_DEVICE,
                  "%s aligns buffers to %u bytes, but %s was compiled for %u; compile it for this "
                  "device",
                  name, (unsigned)alignment, model->name, (unsigned)model->alignment);
  if (model->group_size > number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE))
    return failed(error, TFLGPU_UNFIT_DEVICE, "%s has no work-groups of %u work-items", name,
                  (unsigned)model->group_size);
  for (axis = 0; axis < 3; axis++)
    if (limits[axis] && model->group[axis] > limits[axis])
      return failed(error, TFLGPU_UNFIT_DEVICE, "%s has no work-groups of %u along axis %d", name,
                    (unsigned)model->group[axis], axis);
  if (model->local_memory > number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE))
    return failed(error, TFLGPU_UNFIT_DEVICE, "%s has less than %u bytes of local memory", name,
                  (unsigned)model->local_memory);
  if (model->arena_size > largest || model->weights_size > largest)
    return failed(error, TFLGPU_UNFIT_DEVICE, "a buffer of %s has at most %lu bytes, too few", name,
                  (unsigned long)largest);
  if (model->image_texels > number(cl, device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE) ||
      (model->image_texels && !cl->CreateImage))
    return failed(error, TFLGPU_UNFIT_DEVICE, "%s has no images of %lu texels", name,
                  (unsigned long)model->image_texels);
  if (model->extension && !has_extension(session, model->extension))
    return failed(error, TFLGPU_UNFIT_DEVICE, "%s lacks %s", name, model->extension);
  return TFLGPU_OK;
}

/* -- files ---------------------------------------------------------------------------------- */

/* The checksum of zlib and PNG. */
static uint32_t crc32(uint32_t crc, const void *data, uint64_t size) {
  uint32_t table[4][256], i, j;
  const unsigned char *bytes = (const unsigned char *)data;
  for (i = 0; i < 256; i++) {
    uint32_t value = i;
    for (j = 0; j < 8; j++) value = value & 1 ? value >> 1 ^ 0xEDB88320u : value >> 1;
    table[0][i] = value;
  }
  for (i = 0; i < 256; i++)
    for (j = 1; j < 4; j++)
      table[j][i] = table[j - 1][i] >> 8 ^ table[0][table[j - 1][i] & 255];
  crc = ~crc;
  for (; size >= 4; size -= 4, bytes += 4) {
    crc ^= bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
    crc = table[3][crc & 255] ^ table[2][crc >> 8 & 255] ^ table[1][crc >> 16 & 255] ^
          table[0][crc >> 24];
  }
  for (; size; size--, bytes++) crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 255];
  return ~crc;
}

/* The content of a file, which the caller frees; NULL if it cannot be read. */
static unsigned char *read_file(const char *path, uint64_t *size) {
  unsigned char *content = NULL;
  long length;
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  if (!fseek(file, 0, SEEK_END) && (length = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET)) {
    content = (unsigned char *)malloc((size_t)length + 1);
    *size = (uint64_t)length;
    if (content && fread(content, 1, (size_t)length, file) != (size_t)length) {
      free(content);
      content = NULL;
    }
  }
  fclose(file);
  return content;
}

static void unmap(void *content, uint64_t size) {
#ifdef _WIN32
  (void)size;
  free(content);
#else
  if (content) munmap(content, (size_t)size);
#endif
}

/* A file in memory, to be given back with `unmap`; NULL if it cannot be read or is empty. */
static void *map_file(const char *path, uint64_t *size) {
#ifdef _WIN32
  return read_file(path, size);
#else
  struct stat status;
  void *content = MAP_FAILED;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return NULL;
  if (!fstat(file, &status) && status.st_size > 0) {
    *size = (uint64_t)status.st_size;
    content = mmap(NULL, (size_t)*size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  close(file);
  return content == MAP_FAILED ? NULL : content;
#endif
}

static tflgpu_status find_weights(tflgpu_session *session, const tflgpu_options *options,
                                  tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  const char *file = options->weights_file ? options->weights_file : "weights.bin";
  uint64_t size = model->weights_size;
  if (!size) return TFLGPU_OK;
  if (options->weights) {
    session->weights = options->weights;
    size = options->weights_size;
    file = "options.weights";
  } else if (model->weights && !options->weights_file) {
    session->weights = model->weights;
    file = "the program";
  } else {
    session->weights = session->mapped = map_file(file, &session->mapped_size);
    size = session->mapped_size;
    if (!session->mapped)
      return failed(error, TFLGPU_BAD_WEIGHTS, "the weights in %s cannot be read", file);
  }
  if (size != model->weights_size)
    return failed(error, TFLGPU_BAD_WEIGHTS, "the weights in %s have %lu bytes instead of %lu", file,
                  (unsigned long)size, (unsigned long)model->weights_size);
  if (crc32(0, session->weights, size) != model->weights_crc32)
    return failed(error, TFLGPU_BAD_WEIGHTS, "the weights in %s are damaged or of another model",
                  file);
  return TFLGPU_OK;
}

/* -- compiled kernels ----------------------------------------------------------------------- */

/* What stands before a binary in its file. */
typedef struct binary_header {
  char magic[8];
  uint64_t size;
  uint32_t key, crc32;
} binary_header;

static const char binary_magic[8] = {'t', 'f', 'l', 'g', 'p', 'u', 'b', '1'};

/* Differs between devices, drivers and schedules whose binaries differ. */
static uint32_t binary_key(tflgpu_session *session) {
  static const cl_uint asked[] = {CL_DEVICE_NAME, CL_DRIVER_VERSION, CL_DEVICE_VERSION};
  const driver *cl = &session->cl;
  const char *options = session->schedule->options;
  cl_object platform = NULL;
  uint32_t key = crc32(0, session->model->digest, strlen(session->model->digest));
  char answer[1024];
  size_t i;
  key = crc32(key, options, strlen(options) + 1);
  for (i = 0; i < sizeof asked / sizeof *asked; i++) {
    text(cl, session->device, asked[i], answer, sizeof answer);
    key = crc32(key, answer, strlen(answer) + 1);
  }
  if (!cl->GetDeviceInfo(session->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL)) {
    memset(answer, 0, sizeof answer);
    cl->GetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof answer - 1, answer, NULL);
    key = crc32(key, answer, strlen(answer));
  }
#ifdef __linux__
  if (session->on_host) { /* compiled for this very processor, whatever the device's name says */
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(answer, sizeof answer, file))
      if (!strncmp(answer, "flags", 5) || !strncmp(answer, "Features", 8)) {
        key = crc32(key, answer, strlen(answer));
        break;
      }
    if (file) fclose(file);
  }
#endif
  return key;
}

/* FOLDER/DIGEST-KEY.bin, which the caller frees. */
static char *binary_path(const char *folder, const tflgpu_model *model, uint32_t key) {
  size_t size = strlen(folder) + strlen(model->digest) + 32;
  char *path = (char *)malloc(size);
  if (path) snprintf(path, size, "%s/%s-%08lx.bin", folder, model->digest, (unsigned long)key);
  return path;
}

/* Whether kernels may use AVX-512 VNNI by name: PoCL's compiler assembles it, even if it takes the
   processor for an older one. */
static int multiplies_bytes(tflgpu_session *session) {
#if defined(__GNUC__) && defined(__x86_64__)
  const driver *cl = &session->cl;
  cl_object platform = NULL;
  char name[256] = "";
  if (!session->on_host || !__builtin_cpu_supports("avx512vnni")) return 0;
  if (cl->GetDeviceInfo(session->device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL))
    return 0;
  cl->GetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
  return !strcmp(name, "Portable Computing Language");
#else
  (void)session;
  return 0;
#endif
}

static int build(tflgpu_session *session) {
  char options[256];
  snprintf(options, sizeof options, "%s%s", session->schedule->options,
           multiplies_bytes(session) ? " -D AVX512_VNNI" : "");
  return !session->cl.BuildProgram(session->program, 1, &session->device, options, NULL, NULL);
}

/* Takes the program from the cache folder if there is a whole one that the driver accepts. */
static void restore_program(tflgpu_session *session, const char *folder, uint32_t key) {
  char *path = binary_path(folder, session->model, key);
  uint64_t size = 0;
  unsigned char *content = path ? read_file(path, &size) : NULL;
  binary_header header;
  if (content && size > sizeof header) {
    const unsigned char *binary = content + sizeof header;
    size_t length = (size_t)(size - sizeof header);
    cl_int code = 0, status = 0;
    memcpy(&header, content, sizeof header);
    if (!memcmp(header.magic, binary_magic, sizeof header.magic) && header.key == key &&
        header.size == length && header.crc32 == crc32(0, binary, length)) {
      session->program = session->cl.CreateProgramWithBinary(
          session->context, 1, &session->device, &length, &binary, &status, &code);
      session->restored = session->program && !code && !status && build(session);
      if (session->program && !session->restored) {
        session->cl.ReleaseProgram(session->program);
        session->program = NULL;
      }
    }
  }
  free(content);
  free(path);
}

/* Writes the program into the cache folder: whole, or not at all. That it could not is no error. */
static void store_program(tflgpu_session *session, const char *folder, uint32_t key) {
  const driver *cl = &session->cl;
  char *path = binary_path(folder, session->model, key), *unfinished = NULL;
  unsigned char *content = NULL;
  size_t size = 0;
  FILE *file = NULL;
  int written = 0;
  binary_header header;
  if (path && !cl->GetProgramInfo(session->program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                                  NULL) && size)
    content = (unsigned char *)malloc(size);
  if (content &&
      !cl->GetProgramInfo(session->program, CL_PROGRAM_BINARIES, sizeof content, &content, NULL))
    unfinished = (char *)malloc(strlen(path) + 40);
  if (unfinished) {
    memcpy(header.magic, binary_magic, sizeof header.magic);
    header.size = size;
    header.key = key;
    header.crc32 = crc32(0, content, size);
#ifdef _WIN32
    sprintf(unfinished, "%s.%lu", path, (unsigned long)GetCurrentThreadId());
    file = fopen(unfinished, "wb");
#else
    /* One file for each session, which other users can neither read nor replace. */
    sprintf(unfinished, "%s.%ld-%lx", path, (long)getpid(), (unsigned long)(size_t)session);
    {
      int number = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
      if (number >= 0 && !(file = fdopen(number, "wb"))) close(number);
    }
#endif
  }
  if (file) {
    written = fwrite(&header, sizeof header, 1, file) == 1 && fwrite(content, size, 1, file) == 1;
    written = !fclose(file) && written;
#ifdef _WIN32
    if (written) remove(path);
#endif
    if (!written || rename(unfinished, path)) remove(unfinished);
  }
  free(unfinished);
  free(content);
  free(path);
}

/* Whether others cannot put binaries into a folder: they would run as this program. */
static int is_private(const char *folder) {
#ifdef _WIN32
  return GetFileAttributesA(folder) != INVALID_FILE_ATTRIBUTES;
#else
  struct stat status;
  return !stat(folder, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         !(status.st_mode & (S_IWGRP | S_IWOTH));
#endif
}

static tflgpu_status compile_program(tflgpu_session *session, tflgpu_error *error) {
  const driver *cl = &session->cl;
  const tflgpu_schedule *schedule = session->schedule;
  cl_int code = 0;
  /* OpenCL takes pieces that it does not change. */
  session->program = cl->CreateProgramWithSource(
      session->context, schedule->source_count, (const char **)(uintptr_t)schedule->source, NULL,
      &code);
  if (!session->program) return driver_failed(error, "passing the kernels to the compiler", code);
  if (!build(session)) {
    size_t used = 0, room;
    if (!error) return TFLGPU_BUILD_FAILED;
    failed(error, TFLGPU_BUILD_FAILED, "%s rejects the kernels of %s:\n", session->name,
           session->model->name);
    used = strlen(error->message);
    room = sizeof error->message - used - 1;
    /* A longer log is left out by the driver. */
    if (cl->GetProgramBuildInfo(session->program, session->device, CL_PROGRAM_BUILD_LOG, room,
                                error->message + used, NULL))
      snprintf(error->message + used, room, "the log is too long");
    return TFLGPU_BUILD_FAILED;
  }
  return TFLGPU_OK;
}

/* -- memory --------------------------------------------------------------------------------- */

/* Where the buffer of a region stands in `session->buffers`. */
static size_t place(const tflgpu_model *model, int region, uint32_t index) {
  size_t first_output = 2u + model->input_count;
  switch (region) {
    case TFLGPU_ARENA: return 0;
    case TFLGPU_WEIGHTS: return 1;
    case TFLGPU_INPUT: return 2u + index;
    case TFLGPU_OUTPUT: return first_output + index;
    default: return first_output + model->output_count + index;
  }
}

static size_t buffer_count(const tflgpu_model *model) {
  return place(model, TFLGPU_STATE, model->variable_count);
}

static tflgpu_status allocate(tflgpu_session *session, cl_object *buffer, uint64_t size,
                              tflgpu_error *error) {
  /* On the host, PoCL would allocate at first use, and end the process if that fails. */
  cl_bitfield flags = CL_MEM_READ_WRITE | (session->on_host ? CL_MEM_ALLOC_HOST_PTR : 0);
  cl_int code = 0;
  *buffer = session->cl.CreateBuffer(session->context, flags, size ? (size_t)size : 1, NULL, &code);
  return *buffer ? TFLGPU_OK : driver_failed(error, "allocating a buffer", code);
}

/* The buffers of all inputs or outputs, whose words begin at `words`. */
static tflgpu_status allocate_tensors(tflgpu_session *session, int region,
                                      const tflgpu_tensor *tensors, uint32_t count, int32_t **words,
                                      tflgpu_error *error) {
  uint32_t i;
  tflgpu_status status;
  for (i = 0; i < count; i++) {
    const tflgpu_tensor *tensor = &tensors[i];
    cl_object *buffer = &session->buffers[place(session->model, region, i)];
    if ((status = allocate(session, buffer, tensor->buffer_size, error))) return status;
    if (tflgpu_byte_size(tensor) == tensor->elements * 4) continue;
    words[i] = (int32_t *)malloc((size_t)tensor->elements * 4 + 1);
    if (!words[i]) return out_of_memory(error);
  }
  return TFLGPU_OK;
}

static tflgpu_status allocate_buffers(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  cl_object *buffers = session->buffers =
      (cl_object *)calloc(buffer_count(model), sizeof *session->buffers);
  uint32_t i;
  tflgpu_status status;
  session->words =
      (int32_t **)calloc(model->input_count + model->output_count + 1u, sizeof *session->words);
  if (!buffers || !session->words) return out_of_memory(error);
  if ((status = allocate(session, &buffers[0], model->arena_size, error))) return status;
  if (session->weights) {
    /* A processor reads the weights where they are. */
    int aligned = (uintptr_t)session->weights % 64 == 0;
    cl_bitfield flags = session->on_host && aligned ? CL_MEM_USE_HOST_PTR : CL_MEM_COPY_HOST_PTR;
    cl_int code = 0;
    buffers[1] = session->cl.CreateBuffer(session->context, CL_MEM_READ_ONLY | flags,
                                          (size_t)model->weights_size,
                                          (void *)(uintptr_t)session->weights, &code);
    if (!buffers[1]) return driver_failed(error, "copying the weights", code);
  } else if ((status = allocate(session, &buffers[1], 0, error))) {
    return status;
  }
  if ((status = allocate_tensors(session, TFLGPU_INPUT, model->inputs, model->input_count,
                                 session->words, error)) ||
      (status = allocate_tensors(session, TFLGPU_OUTPUT, model->outputs, model->output_count,
                                 session->words + model->input_count, error)))
    return status;
  for (i = 0; i < model->variable_count; i++) {
    cl_object *buffer = &buffers[place(model, TFLGPU_STATE, i)];
    if ((status = allocate(session, buffer, model->variables[i].size, error))) return status;
  }
  return TFLGPU_OK;
}

/* -- binding kernels to memory -------------------------------------------------------------- */

/* The memory of an argument: a region's buffer, or a piece of it. */
static tflgpu_status argument_memory(tflgpu_session *session, const tflgpu_argument *argument,
                                     cl_object *memory, tflgpu_error *error) {
  const driver *cl = &session->cl;
  size_t span[2];
  cl_int code = 0;
  *memory = session->buffers[place(session->model, argument->region, argument->index)];
  /* Drivers make no empty pieces; a kernel never reads an empty argument. */
  if (!argument->whole && argument->size) {
    span[0] = (size_t)argument->offset;
    span[1] = (size_t)argument->size;
    *memory = cl->CreateSubBuffer(*memory, 0, CL_BUFFER_CREATE_TYPE_REGION, span, &code);
    if (!*memory) return driver_failed(error, "taking a piece of a buffer", code);
    session->pieces[session->piece_count++] = *memory;
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
    *memory = cl->CreateImage(session->context, CL_MEM_READ_ONLY, &format, &description, NULL, &code);
    if (!*memory) return driver_failed(error, "taking a piece of a buffer as an image", code);
    session->pieces[session->piece_count++] = *memory;
  }
  return TFLGPU_OK;
}

/* A kernel object for each step, since arguments belong to the kernel object. */
static tflgpu_status bind_step(tflgpu_session *session, uint32_t index, tflgpu_error *error) {
  const driver *cl = &session->cl;
  const tflgpu_schedule *schedule = session->schedule;
  const tflgpu_step *step = &schedule->steps[index];
  const uint32_t counters = step->counters != 0;
  static const cl_int zero = 0;
  cl_uint taken = 0, i;
  cl_int code = 0;
  cl_object kernel, memory;
  tflgpu_status status;
  kernel = session->kernels[index] =
      cl->CreateKernel(session->program, schedule->kernels[step->kernel], &code);
  if (!kernel) return driver_failed(error, schedule->kernels[step->kernel], code);
  TRY(cl->GetKernelInfo(kernel, CL_KERNEL_NUM_ARGS, sizeof taken, &taken, NULL),
      "asking for the parameters of a kernel");
  if (taken != step->argument_count + counters)
    return failed(error, TFLGPU_BUILD_FAILED, "kernel %s has %u parameters instead of %u",
                  schedule->kernels[step->kernel], (unsigned)taken,
                  (unsigned)(step->argument_count + counters));
  if (counters) {
    if ((status = allocate(session, &memory, step->counters, error))) return status;
    session->pieces[session->piece_count++] = memory;
    TRY(cl->EnqueueFillBuffer(session->queue, memory, &zero, sizeof zero, 0, step->counters, 0,
                              NULL, NULL),
        "clearing the counters");
    TRY(cl->SetKernelArg(kernel, 0, sizeof memory, &memory), "binding the counters");
  }
  for (i = 0; i < step->argument_count; i++) {
    const tflgpu_argument *argument = &schedule->arguments[step->first_argument + i];
    if ((status = argument_memory(session, argument, &memory, error))) return status;
    TRY(cl->SetKernelArg(kernel, i + counters, sizeof memory, &memory), "binding an argument");
  }
  return TFLGPU_OK;
}

static tflgpu_status bind_steps(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_schedule *schedule = session->schedule;
  size_t room = 1;
  uint32_t i;
  tflgpu_status status;
  for (i = 0; i < schedule->step_count; i++) room += 2u * schedule->steps[i].argument_count + 1u;
  session->kernels = (cl_object *)calloc(schedule->step_count + 1u, sizeof *session->kernels);
  session->pieces = (cl_object *)calloc(room, sizeof *session->pieces);
  if (!session->kernels || !session->pieces) return out_of_memory(error);
  for (i = 0; i < schedule->step_count; i++)
    if ((status = bind_step(session, i, error))) return status;
  return TFLGPU_OK;
}

/* -- opening and closing -------------------------------------------------------------------- */

static tflgpu_status launch(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_schedule *schedule = session->schedule;
  size_t grid[3], group[3];
  uint32_t i;
  int axis;
  for (i = 0; i < schedule->step_count; i++) {
    const tflgpu_step *step = &schedule->steps[i];
    for (axis = 0; axis < 3; axis++) {
      grid[axis] = step->grid[axis];
      group[axis] = step->group[axis];
    }
    if (step->counters) grid[0] = session->resident_groups;
    TRY(session->cl.EnqueueNDRangeKernel(session->queue, session->kernels[i], 3, NULL, grid, group,
                                         0, NULL, NULL),
        "launching a kernel");
  }
  return TFLGPU_OK;
}

static tflgpu_status start(tflgpu_session *session, const tflgpu_options *options,
                           tflgpu_error *error) {
  const driver *cl = &session->cl;
  const char *folder = options->cache_folder;
  uint32_t key = 0; /* of compiled kernels in the folder */
  tflgpu_status status;
  cl_int code = 0;
  if ((status = find_weights(session, options, error))) return status;
  lock_loader();
  status = load_driver(&session->cl, error);
  if (!status) status = choose_device(session, options->device, error);
  unlock_loader();
  if (status) return status;
  choose_schedule(session);
  if ((status = check_device(session, error))) return status;
  session->context = cl->CreateContext(NULL, 1, &session->device, NULL, NULL, &code);
  if (!session->context) return driver_failed(error, "opening the device", code);
  session->queue = cl->CreateCommandQueue(session->context, session->device, 0, &code);
  if (!session->queue) return driver_failed(error, "opening a queue", code);
  if (folder && !is_private(folder))
    return failed(error, TFLGPU_INVALID_ARGUMENT,
                  "the cache folder %s must exist, belong to this user, and be writable by no "
                  "other",
                  folder);
  if (folder) {
    key = binary_key(session);
    restore_program(session, folder, key);
  }
  if (!session->program && (status = compile_program(session, error))) return status;
  if ((status = allocate_buffers(session, error)) || (status = bind_steps(session, error)))
    return status;
  if (folder && !session->restored) {
    /* Some drivers compile at the first launch, so everything runs once before it is stored. */
    if ((status = launch(session, error))) return status;
    TRY(cl->Finish(session->queue), "running the kernels");
    store_program(session, folder, key);
  }
  return tflgpu_reset(session, error);
}

tflgpu_session *tflgpu_open(const tflgpu_model *model, const tflgpu_options *options,
                            tflgpu_error *error) {
  tflgpu_options defaults;
  tflgpu_session *session;
  failed(error, TFLGPU_OK, "%s", "");
  memset(&defaults, 0, sizeof defaults);
  if (!model) {
    failed(error, TFLGPU_INVALID_ARGUMENT, "the model is missing");
    return NULL;
  }
  session = (tflgpu_session *)calloc(1, sizeof *session);
  if (!session) {
    out_of_memory(error);
    return NULL;
  }
  session->model = model;
  if (start(session, options ? options : &defaults, error)) {
    tflgpu_close(session);
    return NULL;
  }
  return session;
}

void tflgpu_close(tflgpu_session *session) {
  const driver *cl;
  size_t i;
  if (!session) return;
  cl = &session->cl;
  if (session->queue) cl->Finish(session->queue);
  for (i = 0; session->kernels && i < session->schedule->step_count; i++)
    if (session->kernels[i]) cl->ReleaseKernel(session->kernels[i]);
  while (session->piece_count) cl->ReleaseMemObject(session->pieces[--session->piece_count]);
  for (i = 0; session->buffers && i < buffer_count(session->model); i++)
    if (session->buffers[i]) cl->ReleaseMemObject(session->buffers[i]);
  for (i = 0; session->words && i < session->model->input_count + session->model->output_count; i++)
    free(session->words[i]);
  if (session->program) cl->ReleaseProgram(session->program);
  if (session->queue) cl->ReleaseCommandQueue(session->queue);
  if (session->context) cl->ReleaseContext(session->context);
  unmap(session->mapped, session->mapped_size);
  free(session->words);
  free(session->kernels);
  free(session->pieces);
  free(session->buffers);
  free(session);
}

const char *tflgpu_device_name(const tflgpu_session *session) { return session->name; }

int tflgpu_restored(const tflgpu_session *session) { return session->restored; }

/* -- running -------------------------------------------------------------------------------- */

uint64_t tflgpu_byte_size(const tflgpu_tensor *tensor) {
  switch (tensor->type) {
    case TFLGPU_BOOL:
    case TFLGPU_INT8:
    case TFLGPU_UINT8: return tensor->elements;
    case TFLGPU_INT16:
    case TFLGPU_UINT16: return tensor->elements * 2;
    case TFLGPU_INT64: return tensor->elements * 8;
    default: return tensor->elements * 4;
  }
}

/* Elements as the words of 32 bits that they are on the device; 0 if one does not fit. */
static int to_words(const tflgpu_tensor *tensor, const void *from, int32_t *to) {
  uint64_t i;
  for (i = 0; i < tensor->elements; i++) {
    switch (tensor->type) {
      case TFLGPU_BOOL: to[i] = ((const uint8_t *)from)[i] != 0; break;
      case TFLGPU_INT8: to[i] = ((const int8_t *)from)[i]; break;
      case TFLGPU_UINT8: to[i] = ((const uint8_t *)from)[i]; break;
      case TFLGPU_INT16: to[i] = ((const int16_t *)from)[i]; break;
      case TFLGPU_UINT16: to[i] = ((const uint16_t *)from)[i]; break;
      default: {
        int64_t wide = ((const int64_t *)from)[i];
        if (wide < INT32_MIN || wide > INT32_MAX) return 0;
        to[i] = (int32_t)wide;
      }
    }
  }
  return 1;
}

static void from_words(const tflgpu_tensor *tensor, const int32_t *from, void *to) {
  uint64_t i;
  for (i = 0; i < tensor->elements; i++) {
    switch (tensor->type) {
      case TFLGPU_BOOL: ((uint8_t *)to)[i] = from[i] != 0; break;
      case TFLGPU_INT8: ((int8_t *)to)[i] = (int8_t)from[i]; break;
      case TFLGPU_UINT8: ((uint8_t *)to)[i] = (uint8_t)from[i]; break;
      case TFLGPU_INT16: ((int16_t *)to)[i] = (int16_t)from[i]; break;
      case TFLGPU_UINT16: ((uint16_t *)to)[i] = (uint16_t)from[i]; break;
      default: ((int64_t *)to)[i] = from[i];
    }
  }
}

static tflgpu_status upload(tflgpu_session *session, const void *const *inputs,
                            tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  uint32_t i;
  for (i = 0; i < model->input_count; i++) {
    const tflgpu_tensor *tensor = &model->inputs[i];
    const void *from = inputs ? inputs[i] : NULL;
    if (!from)
      return failed(error, TFLGPU_INVALID_ARGUMENT, "input %s is missing", tensor->name);
    if (!tensor->elements) continue;
    if (session->words[i]) {
      if (!to_words(tensor, from, session->words[i]))
        return failed(error, TFLGPU_INVALID_ARGUMENT,
                      "input %s has values that do not fit in 32 bits", tensor->name);
      from = session->words[i];
    }
    TRY(session->cl.EnqueueWriteBuffer(session->queue,
                                       session->buffers[place(model, TFLGPU_INPUT, i)], 0, 0,
                                       (size_t)tensor->elements * 4, from, 0, NULL, NULL),
        "copying an input");
  }
  return TFLGPU_OK;
}

static tflgpu_status download(tflgpu_session *session, void *const *outputs, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  uint32_t i;
  for (i = 0; i < model->output_count; i++) {
    const tflgpu_tensor *tensor = &model->outputs[i];
    int32_t *words = session->words[model->input_count + i];
    void *to = outputs ? outputs[i] : NULL;
    if (!to || !tensor->elements) continue;
    TRY(session->cl.EnqueueReadBuffer(session->queue,
                                      session->buffers[place(model, TFLGPU_OUTPUT, i)], 0, 0,
                                      (size_t)tensor->elements * 4, words ? words : to, 0, NULL,
                                      NULL),
        "copying an output");
  }
  TRY(session->cl.Finish(session->queue), "running the kernels");
  for (i = 0; outputs && i < model->output_count; i++)
    if (outputs[i] && session->words[model->input_count + i])
      from_words(&model->outputs[i], session->words[model->input_count + i], outputs[i]);
  return TFLGPU_OK;
}

tflgpu_status tflgpu_run(tflgpu_session *session, const void *const *inputs, void *const *outputs,
                         tflgpu_error *error) {
  tflgpu_status status;
  if (!session) return failed(error, TFLGPU_INVALID_ARGUMENT, "the session is missing");
  failed(error, TFLGPU_OK, "%s", "");
  if ((status = upload(session, inputs, error)) || (status = launch(session, error)) ||
      (status = download(session, outputs, error)))
    session->cl.Finish(session->queue); /* the driver may still read and write arrays */
  return status;
}

tflgpu_status tflgpu_reset(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  static const cl_int zero = 0;
  uint32_t i;
  for (i = 0; i < model->variable_count; i++) {
    const tflgpu_variable *variable = &model->variables[i];
    cl_object buffer = session->buffers[place(model, TFLGPU_STATE, i)];
    if (variable->size)
      TRY(session->cl.EnqueueFillBuffer(session->queue, buffer, &zero, sizeof zero, 0,
                                        (size_t)variable->size, 0, NULL, NULL),
          "clearing a variable");
    if (variable->content_size)
      TRY(session->cl.EnqueueWriteBuffer(session->queue, buffer, 0, 0,
                                         (size_t)variable->content_size,
                                         (const char *)session->weights + variable->content, 0,
                                         NULL, NULL),
          "filling a variable");
  }
  TRY(session->cl.Finish(session->queue), "resetting the variables");
  return TFLGPU_OK;
}
