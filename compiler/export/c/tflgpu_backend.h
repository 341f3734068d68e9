/* What tflgpu.c and the runtimes of drivers need of each other. Applications include tflgpu.h. */
#ifndef TFLGPU_BACKEND_H
#define TFLGPU_BACKEND_H

#include "tflgpu.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How functions of OpenCL and OpenGL are called. */
#ifdef _WIN32
#define TFLGPU_CALL __stdcall
#else
#define TFLGPU_CALL
#endif

/* The member of a structure for a function of such a list as X(result, name, parameters). */
#define TFLGPU_MEMBER(result, name, parameters) result(TFLGPU_CALL *name) parameters;

/* An opened device. */
typedef struct tflgpu_device {
  const char *type; /* gpu, accelerator, cpu or other */
  char vendor[256], platform[256], name[256];
  uint32_t lanes; /* floats of its vectors */
  tflgpu_limits limits;
  uint32_t resident_groups; /* work-groups to launch a persistent kernel with; 0 to launch none */
  int on_processor;         /* it is the processor that runs this program */
} tflgpu_device;

/* What sessions of all drivers have; a driver's own session begins with it. */
struct tflgpu_session {
  const tflgpu_model *model;
  const tflgpu_variant *variant;   /* the one that suits the device best */
  const tflgpu_schedule *schedule; /* of the two in the variant, the one that suits the device */
  tflgpu_device device;
  const void *weights; /* the content of the file */
  void *joined;        /* the variant's weights if they lie in several places of the file */
  void *mapped;        /* the file in memory */
  uint64_t mapped_size;
  void **buffers;  /* in use, of each region and index, see tflgpu_place */
  void **own;      /* those that the session has made; inputs and outputs can be the caller's */
  int32_t **words; /* of each input, then output, narrower than its buffer; else NULL */
  void *context;   /* the cl_context; NULL with other drivers */
  int opened;      /* the device is open */
  int running;     /* a run has been started, and not been waited for */
  int restored;
  char *cache_folder;
  tflgpu_session *first; /* that of the signature which was opened; it owns what all share */
  tflgpu_session *next;  /* of another signature */
};

/* A driver. Each function returns a status unless said otherwise. All but `open`, `share`, `enter`
 * and `close` are called between `enter` and `leave`. What a driver does not need is NULL. */
struct tflgpu_backend {
  size_t session_size;
  /* Loads the driver, opens a device, describes it in the session, and enters. Only one thread at
   * a time does so: some loaders show the second one no devices. */
  tflgpu_status (*open)(tflgpu_session *, const tflgpu_options *, tflgpu_error *);
  /* Uses the device of another session, which is closed later, and enters. */
  tflgpu_status (*share)(tflgpu_session *, tflgpu_session *with, tflgpu_error *);
  int (*has_extension)(tflgpu_session *, const char *name);
  int (*has_instruction)(tflgpu_session *, const char *name);
  /* Sets a pointer to a function of the driver or of an extension, to NULL if there is none. */
  void (*find)(tflgpu_session *, const char *name, void *function);
  tflgpu_status (*enter)(tflgpu_session *, tflgpu_error *);
  void (*leave)(tflgpu_session *);
  void (*close)(tflgpu_session *); /* also after `open` or anything else has failed */
  /* A checksum continued with what compiled kernels depend on: the device and its driver. This,
   * `restore` and `binary` are NULL for drivers that keep compiled kernels by themselves. */
  uint32_t (*identify)(tflgpu_session *, uint32_t crc);
  tflgpu_status (*compile)(tflgpu_session *, tflgpu_error *);
  /* The kernels that `binary` has returned before: whether the driver accepts them. */
  int (*restore)(tflgpu_session *, const unsigned char *binary, size_t size);
  unsigned char *(*binary)(tflgpu_session *, size_t *size); /* to be freed; NULL for none */
  /* Frees what `compile`, `restore` and `bind` have made. */
  void (*discard)(tflgpu_session *);
  /* A buffer; with content, which stays until `close`, kernels only read it. */
  tflgpu_status (*allocate)(tflgpu_session *, uint64_t size, const void *content, void **buffer,
                            tflgpu_error *);
  void (*release)(tflgpu_session *, void *buffer);
  tflgpu_status (*size)(tflgpu_session *, void *buffer, uint64_t *size, tflgpu_error *);
  /* Prepares the launches on `buffers`: all, or those that use a buffer which is new there. */
  tflgpu_status (*bind)(tflgpu_session *, const void *buffer, tflgpu_error *);
  /* These only start. What they copy must not change until `finish`. */
  tflgpu_status (*write)(tflgpu_session *, void *buffer, const void *from, uint64_t size,
                         tflgpu_error *);
  tflgpu_status (*clear)(tflgpu_session *, void *buffer, uint64_t size, tflgpu_error *);
  tflgpu_status (*launch)(tflgpu_session *, tflgpu_error *);
  tflgpu_status (*signal)(tflgpu_session *, void **done, tflgpu_error *);
  tflgpu_status (*read)(tflgpu_session *, void *buffer, void *to, uint64_t size, tflgpu_error *);
  tflgpu_status (*finish)(tflgpu_session *, tflgpu_error *);
};

/* The driver whose sessions have this type, and whose functions have these names, and others. */
#define TFLGPU_BACKEND(session, ...)                                                             \
  {                                                                                              \
    .session_size = sizeof(session), .open = open_device, .share = share_device,                 \
    .has_extension = has_extension, .close = close_device, .compile = compile,                   \
    .discard = discard, .allocate = allocate, .release = release, .size = buffer_size,           \
    .write = write_buffer, .clear = clear, .launch = launch, .signal = mark,                     \
    .read = read_buffer, .finish = finish, __VA_ARGS__                                           \
  }

tflgpu_status tflgpu_fail(tflgpu_error *error, tflgpu_status status, const char *format, ...);
tflgpu_status tflgpu_out_of_memory(tflgpu_error *error);

/* That there is no device of an API with the wanted text in its name or, if that is NULL, none at
 * all; `advice` follows that. */
tflgpu_status tflgpu_no_device(tflgpu_error *error, const char *api, const char *wanted,
                               const char *advice);

/* That a driver rejects a kernel, with what it says. */
tflgpu_status tflgpu_rejected(const tflgpu_session *session, const tflgpu_kernel *kernel,
                              const char *log, tflgpu_error *error);

/* What the backend's functions of the same names do, as far as it has them. */
tflgpu_status tflgpu_enter(tflgpu_session *session, tflgpu_error *error);
void tflgpu_leave(tflgpu_session *session);
void tflgpu_find(tflgpu_session *session, const char *name, void *function);

/* Where the buffer of a region stands in `buffers`. */
size_t tflgpu_place(const tflgpu_model *model, int region, uint32_t index);

/* The buffer that an argument is in. */
void *tflgpu_buffer(const tflgpu_session *session, const tflgpu_argument *argument);

/* Whether a step has an argument in a buffer; each is to be bound if that is NULL. */
int tflgpu_binds(const tflgpu_session *session, uint32_t step, const void *buffer);

/* The first of some libraries that is there; NULL if none is. It stays loaded: drivers do not
 * survive being unloaded. */
void *tflgpu_open_library(const char *const *names, size_t count);

/* Sets a pointer to a function, to NULL if the library lacks it. */
void tflgpu_find_symbol(void *library, const char *name, void *function);

/* Whether a text has a part, whatever the case of its letters. */
int tflgpu_contains(const char *text, const char *part);
/* After how many iterations Mesa's renderer on processors ends loops, as others do not. */
uint32_t tflgpu_loop_limit(const char *renderer);

/* Whether a word is one of a list with spaces between them. */
int tflgpu_lists(const char *list, const char *word);

/* The line of Linux that lists the instructions of this processor; empty on other systems. */
void tflgpu_instructions(char *line, size_t size);

/* The checksum of zlib and PNG, continued. */
uint32_t tflgpu_crc32(uint32_t crc, const void *data, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif
