/* The runtime for OpenGL ES 3.1: the same file for every model. See tflgpu.h.
 *
 * The driver is loaded while the program runs, through EGL, so that nothing of OpenGL is needed to
 * build it. No window is needed either. */
#include "tflgpu_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- EGL and OpenGL ES, as in Khronos' headers ---------------------------------------------- */

enum {
  EGL_CONTEXT_MAJOR_VERSION = 0x3098,
  EGL_CONTEXT_MINOR_VERSION = 0x30FB,
  EGL_DRAW = 0x3059,
  EGL_NONE = 0x3038,
  EGL_OPENGL_ES3_BIT = 0x0040,
  EGL_OPENGL_ES_API = 0x30A0,
  EGL_PLATFORM_DEVICE = 0x313F,
  EGL_READ = 0x305A,
  EGL_RENDERABLE_TYPE = 0x3040,
  EGL_SURFACE_TYPE = 0x3033,
  GL_BUFFER_SIZE = 0x8764,
  GL_COMPILE_STATUS = 0x8B81,
  GL_COMPUTE_SHADER = 0x91B9,
  GL_DYNAMIC_COPY = 0x88EA,
  GL_EXTENSIONS = 0x1F03,
  GL_LINK_STATUS = 0x8B82,
  GL_MAP_READ_BIT = 1,
  GL_MAP_WRITE_BIT = 2,
  GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS = 0x90DB,
  GL_MAX_COMPUTE_SHARED_MEMORY_SIZE = 0x8262,
  GL_MAX_COMPUTE_WORK_GROUP_COUNT = 0x91BE,
  GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS = 0x90EB,
  GL_MAX_COMPUTE_WORK_GROUP_SIZE = 0x91BF,
  GL_MAX_SHADER_STORAGE_BLOCK_SIZE = 0x90DE,
  GL_NUM_PROGRAM_BINARY_FORMATS = 0x87FE,
  GL_OUT_OF_MEMORY = 0x0505,
  GL_PROGRAM_BINARY_LENGTH = 0x8741,
  GL_PROGRAM_BINARY_RETRIEVABLE_HINT = 0x8257,
  GL_RENDERER = 0x1F01,
  GL_SHADER_STORAGE_BARRIER_BIT = 0x2000,
  GL_SHADER_STORAGE_BUFFER = 0x90D2,
  GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT = 0x90DF,
  GL_STATIC_DRAW = 0x88E4,
  GL_SYNC_GPU_COMMANDS_COMPLETE = 0x9117,
  GL_VENDOR = 0x1F00,
  GL_VERSION = 0x1F02
};

#define GL_ALL_BARRIER_BITS 0xFFFFFFFFu

/* X(result, name without egl, parameters) */
#define EGL_FUNCTIONS(X)                                            \
  X(void *, GetProcAddress, (const char *))                         \
  X(int32_t, GetError, (void))                                      \
  X(void *, GetDisplay, (void *))                                   \
  X(uint32_t, Initialize, (void *, int32_t *, int32_t *))           \
  X(uint32_t, QueryAPI, (void))                                     \
  X(uint32_t, BindAPI, (uint32_t))                                  \
  X(uint32_t, ChooseConfig,                                         \
    (void *, const int32_t *, void **, int32_t, int32_t *))         \
  X(void *, CreateContext, (void *, void *, void *, const int32_t *)) \
  X(uint32_t, DestroyContext, (void *, void *))                     \
  X(uint32_t, MakeCurrent, (void *, void *, void *, void *))        \
  X(void *, GetCurrentDisplay, (void))                              \
  X(void *, GetCurrentSurface, (int32_t))                           \
  X(void *, GetCurrentContext, (void))

/* X(result, name without gl, parameters) */
#define GL_FUNCTIONS(X)                                                        \
  X(uint32_t, GetError, (void))                                                \
  X(const unsigned char *, GetString, (uint32_t))                              \
  X(void, GetInteger64v, (uint32_t, int64_t *))                                \
  X(void, GetInteger64i_v, (uint32_t, uint32_t, int64_t *))                    \
  X(uint32_t, CreateShader, (uint32_t))                                        \
  X(void, ShaderSource, (uint32_t, int32_t, const char *const *, const int32_t *)) \
  X(void, CompileShader, (uint32_t))                                           \
  X(void, GetShaderiv, (uint32_t, uint32_t, int32_t *))                        \
  X(void, GetShaderInfoLog, (uint32_t, int32_t, int32_t *, char *))            \
  X(void, DeleteShader, (uint32_t))                                            \
  X(uint32_t, CreateProgram, (void))                                           \
  X(void, ProgramParameteri, (uint32_t, uint32_t, int32_t))                    \
  X(void, AttachShader, (uint32_t, uint32_t))                                  \
  X(void, LinkProgram, (uint32_t))                                             \
  X(void, GetProgramiv, (uint32_t, uint32_t, int32_t *))                       \
  X(void, GetProgramInfoLog, (uint32_t, int32_t, int32_t *, char *))           \
  X(void, GetProgramBinary, (uint32_t, int32_t, int32_t *, uint32_t *, void *)) \
  X(void, ProgramBinary, (uint32_t, uint32_t, const void *, int32_t))          \
  X(void, UseProgram, (uint32_t))                                              \
  X(void, DeleteProgram, (uint32_t))                                           \
  X(void, GenBuffers, (int32_t, uint32_t *))                                   \
  X(unsigned char, IsBuffer, (uint32_t))                                       \
  X(void, DeleteBuffers, (int32_t, const uint32_t *))                          \
  X(void, BindBuffer, (uint32_t, uint32_t))                                    \
  X(void, BindBufferRange, (uint32_t, uint32_t, uint32_t, intptr_t, intptr_t)) \
  X(void, BufferData, (uint32_t, intptr_t, const void *, uint32_t))            \
  X(void, BufferSubData, (uint32_t, intptr_t, intptr_t, const void *))         \
  X(void, GetBufferParameteri64v, (uint32_t, uint32_t, int64_t *))             \
  X(void *, MapBufferRange, (uint32_t, intptr_t, intptr_t, uint32_t))          \
  X(unsigned char, UnmapBuffer, (uint32_t))                                    \
  X(void, MemoryBarrier, (uint32_t))                                           \
  X(void, DispatchCompute, (uint32_t, uint32_t, uint32_t))                     \
  X(void *, FenceSync, (uint32_t, uint32_t))                                   \
  X(void, Flush, (void))                                                       \
  X(void, Finish, (void))

typedef struct egl_driver {
  EGL_FUNCTIONS(TFLGPU_MEMBER)
} egl_driver;

typedef struct gl_driver {
  GL_FUNCTIONS(TFLGPU_MEMBER)
} gl_driver;

/* What is current on a thread. */
typedef struct current {
  uint32_t api;
  void *display, *draw, *read, *context;
} current;

typedef struct gles_session {
  tflgpu_session shared;
  egl_driver egl;
  gl_driver gl;
  void *display, *context; /* the context is NULL if the caller's is used */
  int borrowed;            /* the context is that of another session */
  current before;          /* what `leave` makes current again */
  uint32_t *programs;      /* of each kernel */
} gles_session;

static gles_session *gles(tflgpu_session *session) { return (gles_session *)session; }

/* The name of a buffer in OpenGL. */
static uint32_t named(void *buffer) { return (uint32_t)(uintptr_t)buffer; }

/* -- errors --------------------------------------------------------------------------------- */

static tflgpu_status check(gles_session *session, const char *what, tflgpu_error *error) {
  uint32_t code = session->gl.GetError();
  if (!code) return TFLGPU_OK;
  return tflgpu_fail(error, code == GL_OUT_OF_MEMORY ? TFLGPU_OUT_OF_MEMORY : TFLGPU_DRIVER_ERROR,
                     "%s failed with OpenGL's error 0x%04x", what, (unsigned)code);
}

/* -- contexts ------------------------------------------------------------------------------- */

static uint32_t make_current(gles_session *session) {
  const egl_driver *egl = &session->egl;
  current *before = &session->before;
  before->api = egl->QueryAPI();
  before->display = egl->GetCurrentDisplay();
  before->draw = egl->GetCurrentSurface(EGL_DRAW);
  before->read = egl->GetCurrentSurface(EGL_READ);
  before->context = egl->GetCurrentContext();
  egl->BindAPI(EGL_OPENGL_ES_API);
  if (egl->MakeCurrent(session->display, NULL, NULL, session->context)) return 1;
  egl->BindAPI(before->api);
  return 0;
}

static void make_current_before(gles_session *session) {
  const egl_driver *egl = &session->egl;
  const current *before = &session->before;
  egl->MakeCurrent(session->display, NULL, NULL, NULL);
  egl->BindAPI(before->api);
  if (before->context)
    egl->MakeCurrent(before->display, before->draw, before->read, before->context);
}

static tflgpu_status enter(tflgpu_session *shared, tflgpu_error *error) {
  enum { MOST = 16 };
  gles_session *session = gles(shared);
  int i;
  if (session->context) {
    if (make_current(session)) return TFLGPU_OK;
    return tflgpu_fail(error, TFLGPU_DRIVER_ERROR,
                       "making the session's context current failed with EGL's error 0x%04x",
                       (unsigned)session->egl.GetError());
  }
  if (!session->egl.GetCurrentContext())
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "no OpenGL ES context is current on this thread, but the session was opened "
                       "with options.current_context");
  for (i = 0; i < MOST && session->gl.GetError(); i++) continue; /* of the caller */
  return TFLGPU_OK;
}

static void leave(tflgpu_session *shared) {
  if (gles(shared)->context) make_current_before(gles(shared));
}

/* -- the driver ----------------------------------------------------------------------------- */

static tflgpu_status load_egl(egl_driver *egl, tflgpu_error *error) {
#ifdef _WIN32
  static const char *const libraries[] = {"libEGL.dll"};
#else
  static const char *const libraries[] = {"libEGL.so.1", "libEGL.so"};
#endif
  void *library = tflgpu_open_library(libraries, sizeof libraries / sizeof *libraries);
  const char *missing = NULL;
  if (!library)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "there is no %s; install an OpenGL ES driver",
                       libraries[0]);
#define FIND(result, function, parameters)                     \
  tflgpu_find_symbol(library, "egl" #function, &egl->function); \
  if (!egl->function) missing = "egl" #function;
  EGL_FUNCTIONS(FIND)
#undef FIND
  if (missing)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "%s has no %s", libraries[0], missing);
  return TFLGPU_OK;
}

/* Finds a function of OpenGL or of an extension of EGL; 0 if the driver lacks it. */
static int find_function(const egl_driver *egl, const char *name, void *function) {
  void *found = egl->GetProcAddress(name);
  memcpy(function, &found, sizeof found);
  return found != NULL;
}

static tflgpu_status load_gl(gles_session *session, tflgpu_error *error) {
  const char *missing = NULL;
#define FIND(result, function, parameters)                                    \
  if (!find_function(&session->egl, "gl" #function, &session->gl.function)) \
    missing = "gl" #function;
  GL_FUNCTIONS(FIND)
#undef FIND
  if (missing)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "the OpenGL driver has no %s", missing);
  return TFLGPU_OK;
}

static const char *text(const gles_session *session, uint32_t name) {
  const char *answer = (const char *)session->gl.GetString(name);
  return answer ? answer : "";
}

/* Whether the current context runs compute shaders of OpenGL ES 3.1. */
static int is_recent(const gles_session *session) {
  const char *version = text(session, GL_VERSION);
  int major = 0, minor = 0;
  if (sscanf(version, "OpenGL ES %d.%d", &major, &minor) == 2)
    return major > 3 || (major == 3 && minor >= 1);
  return sscanf(version, "%d.%d", &major, &minor) == 2 && (major > 4 || (major == 4 && minor >= 3));
}

static int is_software(const char *renderer) {
  static const char *const names[] = {"llvmpipe", "softpipe", "swrast", "SwiftShader"};
  size_t i;
  for (i = 0; i < sizeof names / sizeof *names; i++)
    if (strstr(renderer, names[i])) return 1;
  return 0;
}

/* Connections to the devices. They stay open, as the application may use the same ones. */
static int32_t find_displays(const egl_driver *egl, void **displays, int32_t room) {
  uint32_t(TFLGPU_CALL *query)(int32_t, void **, int32_t *);
  void *(TFLGPU_CALL *connect)(uint32_t, void *, const int32_t *);
  int32_t count = 0, i;
  if (find_function(egl, "eglQueryDevicesEXT", &query) &&
      find_function(egl, "eglGetPlatformDisplayEXT", &connect) && query(room, displays, &count))
    for (i = 0; i < count; i++) displays[i] = connect(EGL_PLATFORM_DEVICE, displays[i], NULL);
  if (count > 0) return count;
  displays[0] = egl->GetDisplay(NULL);
  return 1;
}

/* A context of OpenGL ES 3.1 on a display; NULL if it has none. */
static void *create_context(const egl_driver *egl, void *display) {
  static const int32_t wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, 0,
                                   EGL_NONE};
  static const int32_t version[] = {EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1,
                                    EGL_NONE};
  const uint32_t before = egl->QueryAPI();
  void *config = NULL, *context = NULL;
  int32_t count = 0;
  if (!display || !egl->Initialize(display, NULL, NULL)) return NULL;
  if (egl->BindAPI(EGL_OPENGL_ES_API)) {
    /* Without a fitting configuration, most drivers accept none. */
    if (!egl->ChooseConfig(display, wanted, &config, 1, &count) || !count) config = NULL;
    context = egl->CreateContext(display, config, NULL, version);
  }
  egl->BindAPI(before);
  return context;
}

/* Greater is better: GPUs, then processors; 0 if the session's context is not wanted. */
static int rank(gles_session *session, const char *wanted) {
  int found = 0;
  if (!make_current(session)) return 0;
  if (!load_gl(session, NULL) && is_recent(session)) {
    const char *renderer = text(session, GL_RENDERER);
    if (!wanted || tflgpu_contains(renderer, wanted) ||
        tflgpu_contains(text(session, GL_VENDOR), wanted) ||
        tflgpu_contains(text(session, GL_VERSION), wanted))
      found = is_software(renderer) ? 1 : 2;
  }
  make_current_before(session);
  return found;
}

static tflgpu_status choose_context(gles_session *session, const char *wanted,
                                    tflgpu_error *error) {
  enum { MOST = 16 };
  const egl_driver *egl = &session->egl;
  void *displays[MOST], *best_display = NULL, *best_context = NULL;
  int32_t count = find_displays(egl, displays, MOST), i;
  int best = 0;
  for (i = 0; i < count; i++) {
    int found = 0;
    session->display = displays[i];
    session->context = create_context(egl, displays[i]);
    if (session->context) found = rank(session, wanted);
    if (found > best) {
      if (best_context) egl->DestroyContext(best_display, best_context);
      best = found;
      best_display = session->display;
      best_context = session->context;
    } else if (session->context) {
      egl->DestroyContext(session->display, session->context);
    }
  }
  session->display = best_display;
  session->context = best_context;
  if (best) return TFLGPU_OK;
  return tflgpu_no_device(error, "OpenGL ES 3.1", wanted,
                          "; install a driver, and use a thread on which no context of GLX is "
                          "current, such as that of a window on X11");
}

static uint64_t limit(const gles_session *session, uint32_t name) {
  int64_t value = 0;
  session->gl.GetInteger64v(name, &value);
  return value > 0 ? (uint64_t)value : 0;
}

static void read_limits(gles_session *session) {
  tflgpu_limits *limits = &session->shared.device.limits;
  int64_t value;
  uint32_t axis;
  limits->alignment = (uint32_t)limit(session, GL_SHADER_STORAGE_BUFFER_OFFSET_ALIGNMENT);
  limits->group = (uint32_t)limit(session, GL_MAX_COMPUTE_WORK_GROUP_INVOCATIONS);
  for (axis = 0; axis < 3; axis++) {
    value = 0;
    session->gl.GetInteger64i_v(GL_MAX_COMPUTE_WORK_GROUP_SIZE, axis, &value);
    limits->group_sizes[axis] = (uint32_t)value;
    value = 0;
    session->gl.GetInteger64i_v(GL_MAX_COMPUTE_WORK_GROUP_COUNT, axis, &value);
    limits->group_counts[axis] = (uint32_t)value;
  }
  limits->local_memory = (uint32_t)limit(session, GL_MAX_COMPUTE_SHARED_MEMORY_SIZE);
  limits->arguments = (uint32_t)limit(session, GL_MAX_COMPUTE_SHADER_STORAGE_BLOCKS);
  limits->argument_size = limit(session, GL_MAX_SHADER_STORAGE_BLOCK_SIZE);
  limits->buffer_size = UINT64_MAX;
  limits->iterations = tflgpu_loop_limit(session->shared.device.name);
}

static int has_extension(tflgpu_session *shared, const char *extension) {
  return tflgpu_lists(text(gles(shared), GL_EXTENSIONS), extension);
}

static void find(tflgpu_session *shared, const char *name, void *function) {
  find_function(&gles(shared)->egl, name, function);
}

/* -- compiled kernels ----------------------------------------------------------------------- */

static uint32_t identify(tflgpu_session *shared, uint32_t crc) {
  static const uint32_t asked[] = {GL_VENDOR, GL_RENDERER, GL_VERSION};
  size_t i;
  for (i = 0; i < sizeof asked / sizeof *asked; i++) {
    const char *answer = text(gles(shared), asked[i]);
    crc = tflgpu_crc32(crc, answer, strlen(answer) + 1);
  }
  return crc;
}

static int allocate_programs(gles_session *session) {
  session->programs = (uint32_t *)calloc(session->shared.schedule->kernel_count + 1u,
                                         sizeof *session->programs);
  return session->programs != NULL;
}

static int is_linked(const gles_session *session, uint32_t program) {
  int32_t linked = 0;
  session->gl.GetProgramiv(program, GL_LINK_STATUS, &linked);
  return linked;
}

static tflgpu_status compile_kernel(gles_session *session, uint32_t index, tflgpu_error *error) {
  const gl_driver *gl = &session->gl;
  const tflgpu_schedule *schedule = session->shared.schedule;
  const tflgpu_kernel *kernel = &schedule->kernels[index];
  const uint32_t shader = gl->CreateShader(GL_COMPUTE_SHADER);
  const uint32_t program = session->programs[index] = gl->CreateProgram();
  int32_t compiled = 0, linked = 0;
  char log[4096] = "";
  gl->ShaderSource(shader, (int32_t)kernel->source_count, schedule->source + kernel->first_source,
                   NULL);
  gl->CompileShader(shader);
  gl->GetShaderiv(shader, GL_COMPILE_STATUS, &compiled);
  if (compiled) {
    gl->ProgramParameteri(program, GL_PROGRAM_BINARY_RETRIEVABLE_HINT, 1);
    gl->AttachShader(program, shader);
    gl->LinkProgram(program);
    linked = is_linked(session, program);
    if (!linked) gl->GetProgramInfoLog(program, (int32_t)sizeof log, NULL, log);
  } else {
    gl->GetShaderInfoLog(shader, (int32_t)sizeof log, NULL, log);
  }
  gl->DeleteShader(shader);
  return linked ? check(session, kernel->name, error)
                : tflgpu_rejected(&session->shared, kernel, log, error);
}

static tflgpu_status compile(tflgpu_session *shared, tflgpu_error *error) {
  uint32_t i;
  tflgpu_status status;
  if (!allocate_programs(gles(shared))) return tflgpu_out_of_memory(error);
  for (i = 0; i < shared->schedule->kernel_count; i++)
    if ((status = compile_kernel(gles(shared), i, error))) return status;
  return TFLGPU_OK;
}

/* What stands before the binary of each kernel. */
typedef struct kernel_header {
  uint32_t format, size;
} kernel_header;

static int restore(tflgpu_session *shared, const unsigned char *binary, size_t size) {
  gles_session *session = gles(shared);
  kernel_header header;
  uint32_t i;
  if (!limit(session, GL_NUM_PROGRAM_BINARY_FORMATS) || !allocate_programs(session)) return 0;
  for (i = 0; i < shared->schedule->kernel_count; i++) {
    if (size < sizeof header) return 0;
    memcpy(&header, binary, sizeof header);
    binary += sizeof header;
    size -= sizeof header;
    if (header.size > size) return 0;
    session->programs[i] = session->gl.CreateProgram();
    session->gl.ProgramBinary(session->programs[i], header.format, binary, (int32_t)header.size);
    if (session->gl.GetError() || !is_linked(session, session->programs[i])) return 0;
    binary += header.size;
    size -= header.size;
  }
  return !size;
}

static unsigned char *read_binary(tflgpu_session *shared, size_t *size) {
  gles_session *session = gles(shared);
  const gl_driver *gl = &session->gl;
  const uint32_t count = shared->schedule->kernel_count;
  unsigned char *content;
  uint32_t i;
  int32_t length = 0;
  size_t room = 0, used = 0;
  if (!limit(session, GL_NUM_PROGRAM_BINARY_FORMATS)) return NULL;
  for (i = 0; i < count; i++) {
    gl->GetProgramiv(session->programs[i], GL_PROGRAM_BINARY_LENGTH, &length);
    room += sizeof(kernel_header) + (size_t)length;
  }
  content = (unsigned char *)malloc(room + 1);
  for (i = 0; content && i < count; i++) {
    kernel_header header;
    length = 0;
    gl->GetProgramBinary(session->programs[i], (int32_t)(room - used - sizeof header), &length,
                         &header.format, content + used + sizeof header);
    header.size = (uint32_t)length;
    memcpy(content + used, &header, sizeof header);
    used += sizeof header + header.size;
    if (gl->GetError() || !length) {
      free(content);
      content = NULL;
    }
  }
  *size = used;
  return content;
}

static void discard(tflgpu_session *shared) {
  gles_session *session = gles(shared);
  uint32_t i;
  for (i = 0; session->programs && i < shared->schedule->kernel_count; i++)
    if (session->programs[i]) session->gl.DeleteProgram(session->programs[i]);
  free(session->programs);
  session->programs = NULL;
}

/* -- memory --------------------------------------------------------------------------------- */

static tflgpu_status allocate(tflgpu_session *shared, uint64_t size, const void *content,
                              void **buffer, tflgpu_error *error) {
  gles_session *session = gles(shared);
  uint32_t name = 0;
  session->gl.GenBuffers(1, &name);
  *buffer = (void *)(uintptr_t)name;
  session->gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, name);
  session->gl.BufferData(GL_SHADER_STORAGE_BUFFER, (intptr_t)size, content,
                         content ? GL_STATIC_DRAW : GL_DYNAMIC_COPY);
  return check(session, "allocating a buffer", error);
}

static void release(tflgpu_session *shared, void *buffer) {
  const uint32_t name = named(buffer);
  gles(shared)->gl.DeleteBuffers(1, &name);
}

static tflgpu_status buffer_size(tflgpu_session *shared, void *buffer, uint64_t *size,
                                 tflgpu_error *error) {
  gles_session *session = gles(shared);
  int64_t bytes = 0;
  if (session->context)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the session has a context of its own, which knows no buffers of others; "
                       "open it with options.current_context");
  if (!session->gl.IsBuffer(named(buffer)))
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "the current context has no buffer %u",
                       (unsigned)named(buffer));
  session->gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, named(buffer));
  session->gl.GetBufferParameteri64v(GL_SHADER_STORAGE_BUFFER, GL_BUFFER_SIZE, &bytes);
  *size = bytes > 0 ? (uint64_t)bytes : 0;
  return check(session, "asking for the size of a buffer", error);
}

/* Copies a buffer to an array or, without one, clears it: through a view of its memory. */
static tflgpu_status view(gles_session *session, void *buffer, void *to, uint64_t size,
                          tflgpu_error *error) {
  const uint32_t access = to ? GL_MAP_READ_BIT : GL_MAP_WRITE_BIT;
  void *memory;
  session->gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, named(buffer));
  memory = session->gl.MapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, (intptr_t)size, access);
  if (memory) {
    if (to)
      memcpy(to, memory, (size_t)size);
    else
      memset(memory, 0, (size_t)size);
    if (!session->gl.UnmapBuffer(GL_SHADER_STORAGE_BUFFER)) memory = NULL;
  }
  if (!memory) {
    tflgpu_status status = check(session, "viewing a buffer", error);
    return status ? status
                  : tflgpu_fail(error, TFLGPU_DRIVER_ERROR, "the driver has lost a buffer");
  }
  return TFLGPU_OK;
}

static tflgpu_status write_buffer(tflgpu_session *shared, void *buffer, const void *from,
                                  uint64_t size, tflgpu_error *error) {
  gles_session *session = gles(shared);
  session->gl.BindBuffer(GL_SHADER_STORAGE_BUFFER, named(buffer));
  session->gl.BufferSubData(GL_SHADER_STORAGE_BUFFER, 0, (intptr_t)size, from);
  return check(session, "copying to a buffer", error);
}

static tflgpu_status read_buffer(tflgpu_session *shared, void *buffer, void *to, uint64_t size,
                                 tflgpu_error *error) {
  return view(gles(shared), buffer, to, size, error);
}

static tflgpu_status clear(tflgpu_session *shared, void *buffer, uint64_t size,
                           tflgpu_error *error) {
  return view(gles(shared), buffer, NULL, size, error);
}

/* -- running -------------------------------------------------------------------------------- */

static void launch_step(gles_session *session, const tflgpu_step *step) {
  const gl_driver *gl = &session->gl;
  const tflgpu_session *shared = &session->shared;
  uint32_t i;
  if (step->barrier) gl->MemoryBarrier(GL_SHADER_STORAGE_BARRIER_BIT);
  gl->UseProgram(session->programs[step->kernel]);
  for (i = 0; i < step->argument_count; i++) {
    const tflgpu_argument *argument = &shared->schedule->arguments[step->first_argument + i];
    /* OpenGL has no empty ranges; a kernel never reads an empty argument. */
    gl->BindBufferRange(GL_SHADER_STORAGE_BUFFER, i, named(tflgpu_buffer(shared, argument)),
                        (intptr_t)argument->offset, argument->size ? (intptr_t)argument->size : 4);
  }
  gl->DispatchCompute(step->grid[0] / step->group[0], step->grid[1] / step->group[1],
                      step->grid[2] / step->group[2]);
}

static tflgpu_status launch(tflgpu_session *shared, tflgpu_error *error) {
  gles_session *session = gles(shared);
  uint32_t i;
  /* The kernels must see what was written before, and what comes after must see their results. */
  session->gl.MemoryBarrier(GL_ALL_BARRIER_BITS);
  for (i = 0; i < shared->schedule->step_count; i++)
    launch_step(session, &shared->schedule->steps[i]);
  session->gl.MemoryBarrier(GL_ALL_BARRIER_BITS);
  return check(session, "launching the kernels", error);
}

static tflgpu_status mark(tflgpu_session *shared, void **done, tflgpu_error *error) {
  gles_session *session = gles(shared);
  if (session->context)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the session has a context of its own, whose fences no other can wait for; "
                       "open it with options.current_context, or pass NULL for done");
  *done = session->gl.FenceSync(GL_SYNC_GPU_COMMANDS_COMPLETE, 0);
  session->gl.Flush();
  return check(session, "making a fence for the end of a run", error);
}

static tflgpu_status finish(tflgpu_session *shared, tflgpu_error *error) {
  gles(shared)->gl.Finish();
  return check(gles(shared), "running the kernels", error);
}

/* -- opening and closing -------------------------------------------------------------------- */

static tflgpu_status open_device(tflgpu_session *shared, const tflgpu_options *options,
                                 tflgpu_error *error) {
  gles_session *session = gles(shared);
  tflgpu_device *device = &shared->device;
  tflgpu_status status = load_egl(&session->egl, error);
  if (!status && !options->current_context)
    status = choose_context(session, options->device, error);
  if (status || (status = load_gl(session, error)) || (status = enter(shared, error)))
    return status;
  snprintf(device->name, sizeof device->name, "%s", text(session, GL_RENDERER));
  snprintf(device->vendor, sizeof device->vendor, "%s", text(session, GL_VENDOR));
  memcpy(device->platform, device->vendor, sizeof device->platform);
  device->on_processor = is_software(device->name);
  device->type = device->on_processor ? "cpu" : "gpu";
  device->lanes = 4;
  if (is_recent(session))
    read_limits(session);
  else
    status = tflgpu_fail(error, TFLGPU_UNFIT_DEVICE,
                         "%s has \"%s\", but OpenGL ES 3.1 or OpenGL 4.3 is needed",
                         shared->device.name, text(session, GL_VERSION));
  if (status) leave(shared);
  return status;
}

static tflgpu_status share_device(tflgpu_session *shared, tflgpu_session *with,
                                  tflgpu_error *error) {
  gles_session *session = gles(shared), *other = gles(with);
  session->egl = other->egl;
  session->gl = other->gl;
  session->display = other->display;
  session->context = other->context;
  session->borrowed = 1;
  return enter(shared, error);
}

static void close_device(tflgpu_session *shared) {
  gles_session *session = gles(shared);
  if (session->context && !session->borrowed)
    session->egl.DestroyContext(session->display, session->context);
}

const tflgpu_backend tflgpu_gles =
    TFLGPU_BACKEND(gles_session, .find = find, .enter = enter, .leave = leave,
                   .identify = identify, .restore = restore, .binary = read_binary);
