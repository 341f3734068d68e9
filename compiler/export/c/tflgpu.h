/* Runs a compiled model: the interface of the runtime, and the tables that describe a model.
 *
 *     tflgpu_error error;
 *     tflgpu_session *session = tflgpu_open(&mobilenet, NULL, &error);
 *     if (!session || tflgpu_run(session, inputs, outputs, &error)) puts(error.message);
 *     tflgpu_close(session);
 *
 * C99. Functions print nothing and keep no state outside of sessions. Sessions are independent of
 * each other; one session is for one thread at a time. Models for different drivers can be parts of
 * one program. */
#ifndef TFLGPU_H
#define TFLGPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -- errors --------------------------------------------------------------------------------- */

typedef enum tflgpu_status {
  TFLGPU_OK = 0,
  TFLGPU_INVALID_ARGUMENT, /* a pointer is missing, or a value does not fit */
  TFLGPU_NO_DRIVER,        /* there is no driver, or no device of the wanted name */
  TFLGPU_UNFIT_DEVICE,     /* the device lacks what the model was compiled for */
  TFLGPU_BAD_WEIGHTS,      /* the weights are missing, damaged or of another model */
  TFLGPU_BUILD_FAILED,     /* the driver rejects a kernel */
  TFLGPU_OUT_OF_MEMORY,
  TFLGPU_DRIVER_ERROR      /* a call of the driver failed */
} tflgpu_status;

typedef struct tflgpu_error {
  tflgpu_status status;
  char message[2048]; /* what failed and what to do, in plain text */
} tflgpu_error;

/* -- what a model takes and computes -------------------------------------------------------- */

typedef enum tflgpu_type {
  TFLGPU_FLOAT32,
  TFLGPU_FLOAT16, /* as the bits of a uint16_t */
  TFLGPU_BOOL, /* one byte, 0 or 1 */
  TFLGPU_INT8,
  TFLGPU_UINT8,
  TFLGPU_INT16,
  TFLGPU_UINT16,
  TFLGPU_INT32,
  TFLGPU_UINT32,
  TFLGPU_INT64 /* values must fit in 32 bits */
} tflgpu_type;

/* An input or output: row-major, in the order of axes of the model file (usually NHWC). */
typedef struct tflgpu_tensor {
  const char *name;
  tflgpu_type type;
  uint32_t rank;
  const uint32_t *shape;
  uint64_t elements;
  float scale; /* real value = scale * (stored value - zero_point); 0 if not quantized */
  int64_t zero_point;
  uint64_t buffer_size; /* bytes of its buffer on the device: whole words that hold all elements */
} tflgpu_tensor;

/* -- the tables of a model, which the compiler writes --------------------------------------- */

typedef enum tflgpu_region {
  TFLGPU_ARENA,
  TFLGPU_WEIGHTS,
  TFLGPU_INPUT,
  TFLGPU_OUTPUT,
  TFLGPU_STATE
} tflgpu_region;

/* A buffer argument of a kernel: `size` bytes at `offset` of a region. */
typedef struct tflgpu_argument {
  uint8_t region;
  uint8_t whole; /* the whole buffer of the region */
  uint8_t texel; /* bytes of a texel if the kernel reads an image, else 0 */
  uint32_t index;
  uint64_t offset, size;
} tflgpu_argument;

/* An entry point, and the pieces of source that it is compiled from. */
typedef struct tflgpu_kernel {
  const char *name;
  uint32_t first_source, source_count;
} tflgpu_kernel;

/* A launch of a kernel. */
typedef struct tflgpu_step {
  uint32_t kernel;
  uint8_t barrier;  /* it depends on steps since the last one with a barrier */
  uint32_t grid[3]; /* work-items; of a persistent kernel, one for each resident group */
  uint32_t group[3];
  uint32_t counters; /* bytes of a persistent kernel's first buffer, which holds zeros; else 0 */
  uint32_t first_argument, argument_count;
} tflgpu_step;

/* Everything that one run launches, in order. */
typedef struct tflgpu_schedule {
  const char *const *source; /* pieces of text */
  uint32_t source_count;
  const char *options; /* of the driver's compiler */
  const tflgpu_kernel *kernels;
  uint32_t kernel_count;
  const tflgpu_step *steps;
  uint32_t step_count;
  const tflgpu_argument *arguments;
} tflgpu_schedule;

/* A tensor that keeps its content between runs. */
typedef struct tflgpu_variable {
  const char *name;     /* that of all signatures that have it */
  uint64_t size;        /* bytes of its buffer */
  uint64_t content;     /* where its first content lies in the file of weights */
  uint64_t content_size; /* 0 if it starts with zeros */
} tflgpu_variable;

/* What a variant needs of a device, or what a device has. Sizes are in bytes. */
typedef struct tflgpu_limits {
  uint32_t alignment;       /* every offset of an argument is, or must be, a multiple of it */
  uint32_t group;           /* work-items of a work-group */
  uint32_t group_sizes[3];  /* the same along each axis */
  uint32_t group_counts[3]; /* work-groups of a launch along each axis */
  uint32_t local_memory;    /* of a work-group */
  uint32_t arguments;       /* buffers of a kernel */
  uint64_t argument_size;
  uint64_t buffer_size;
  uint64_t image_texels;    /* of an image of a buffer */
  uint32_t iterations;      /* of a work-item's loops; of a device, 0 if it ends none */
} tflgpu_limits;

/* Devices that a variant is for. What is NULL or 0 always holds; texts are parts of the device's,
 * in small letters. */
typedef struct tflgpu_rule {
  uint32_t conditions; /* rules with more of them are more specific */
  const char *type;    /* gpu, accelerator, cpu or other */
  const char *vendor, *platform, *name, *extension;
  uint32_t lanes;          /* floats of its vectors */
  const char *instruction; /* of its processor, which kernels may use by name */
} tflgpu_rule;

/* Some of a variant's weights: `size` bytes at `from` of the file, which belong at `to`. */
typedef struct tflgpu_span {
  uint64_t to, from, size;
} tflgpu_span;

/* The model compiled for one kind of device. */
typedef struct tflgpu_variant {
  const char *profile; /* of the devices it is for, such as adreno */
  const char *digest;  /* of all its tables; names the files of compiled kernels */
  const tflgpu_rule *rules;
  uint32_t rule_count;
  tflgpu_limits needs;
  const char *extensions; /* that the kernels need, with spaces between; NULL for none */
  uint64_t arena_size;
  uint64_t weights_size;
  const tflgpu_span *spans;
  uint32_t span_count;
  const tflgpu_schedule *dispatches; /* a launch for each kernel */
  const tflgpu_schedule *persistent; /* for processors, whose launches are slow; NULL for none */
} tflgpu_variant;

typedef struct tflgpu_backend tflgpu_backend;
extern const tflgpu_backend tflgpu_opencl, tflgpu_gles, tflgpu_webgpu;

/* A signature of a model, with variants for the same devices as each of its others. */
typedef struct tflgpu_model {
  const tflgpu_backend *backend; /* the driver that its kernels are for */
  const char *name, *signature;  /* "" for the signature of a model without */
  const struct tflgpu_model *next; /* another signature, on the same weights; NULL for none */
  const tflgpu_tensor *inputs;
  uint32_t input_count;
  const tflgpu_tensor *outputs;
  uint32_t output_count;
  const tflgpu_variable *variables;
  uint32_t variable_count;
  uint64_t weights_size; /* of the file */
  uint32_t weights_crc32;
  const void *weights; /* NULL if they are in a file */
  const tflgpu_variant *variants;
  uint32_t variant_count;
} tflgpu_model;

/* -- sessions ------------------------------------------------------------------------------- */

typedef struct tflgpu_session tflgpu_session;

typedef struct tflgpu_options {
  const char *device;       /* a part of the device's or platform's name; NULL for the best */
  const char *weights_file; /* NULL for weights.bin in the current folder */
  const void *weights;      /* the content of weights.bin, until tflgpu_close; NULL for the file */
  uint64_t weights_size;
  const char *cache_folder; /* keeps compiled kernels, made if missing; NULL for none */
  void *cl_queue;           /* OpenCL: the caller's queue, with its context and device; or NULL */
  int current_context;      /* OpenGL ES: whether to use the context that is current, see below */
  void *wgpu_instance, *wgpu_device; /* WebGPU: the caller's, which are used together; or NULL */
} tflgpu_options;

/* Loads a model onto a device. `options` and `error` may be NULL. NULL if that fails.
 *
 * A session on OpenGL ES has a context of its own, which is current only during calls, unless it
 * uses the caller's: then that context, or one that shares its objects, must be current during
 * every call. Calls change the program in use and the bindings of buffers, and clear errors. */
tflgpu_session *tflgpu_open(const tflgpu_model *model, const tflgpu_options *options,
                            tflgpu_error *error);

/* The session for another signature of the model: loaded now unless it was before, with the device,
 * weights and variables of `session`. One of them runs at a time, and closing any closes all. NULL
 * if there is no such signature, or if loading it fails. */
tflgpu_session *tflgpu_signature(tflgpu_session *session, const char *signature,
                                 tflgpu_error *error);

/* Runs the model on arrays of the host, in the order of its inputs and outputs, each aligned for
 * its elements. The array of an input that is bound to a buffer must be NULL; an output whose array
 * is NULL is not copied. */
tflgpu_status tflgpu_run(tflgpu_session *session, const void *const *inputs, void *const *outputs,
                         tflgpu_error *error);

/* Starts a run as tflgpu_run does, without waiting: `inputs` must not change until it is done.
 * `done`, unless it is NULL, receives a cl_event, GLsync or the WGPUQueue, which the caller
 * releases. */
tflgpu_status tflgpu_enqueue(tflgpu_session *session, const void *const *inputs, void **done,
                             tflgpu_error *error);

/* Waits for the runs that were started, and copies the outputs of the last. */
tflgpu_status tflgpu_finish(tflgpu_session *session, void *const *outputs, tflgpu_error *error);

/* Makes a buffer of the caller an input or output until another is bound: a cl_mem, the
 * name of an OpenGL buffer as a pointer, or a WGPUBuffer with the usages Storage, CopySrc and
 * CopyDst. It holds int8 and uint8 elements as bytes and all others as 32
 * bits, a float or an integer, and must have at least the tensor's `buffer_size`, which kernels may
 * write in full. With NULL, the session uses its own buffer again. */
tflgpu_status tflgpu_bind_input(tflgpu_session *session, uint32_t index, void *buffer,
                                tflgpu_error *error);
tflgpu_status tflgpu_bind_output(tflgpu_session *session, uint32_t index, void *buffer,
                                 tflgpu_error *error);

/* Gives every variable its first content, those of all signatures. */
tflgpu_status tflgpu_reset(tflgpu_session *session, tflgpu_error *error);

/* Waits for all runs and frees everything, for all signatures; NULL is allowed. */
void tflgpu_close(tflgpu_session *session);

/* Bytes of a tensor in memory of the host. */
uint64_t tflgpu_byte_size(const tflgpu_tensor *tensor);

/* The name of the device, valid until tflgpu_close. */
const char *tflgpu_device_name(const tflgpu_session *session);

/* The profile of the variant that suits the device best, such as adreno. */
const char *tflgpu_profile(const tflgpu_session *session);

/* Whether the kernels came from the cache folder. */
int tflgpu_restored(const tflgpu_session *session);

#ifdef __cplusplus
}
#endif

#endif
