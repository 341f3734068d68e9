/* Runs a compiled model: the interface of the runtime, and the tables that describe a model.
 *
 *     tflgpu_error error;
 *     tflgpu_session *session = tflgpu_open(&mobilenet, NULL, &error);
 *     if (!session || tflgpu_run(session, inputs, outputs, &error)) puts(error.message);
 *     tflgpu_close(session);
 *
 * C99. Functions print nothing and keep no state outside of sessions. Sessions are independent of
 * each other; one session is for one thread at a time. */
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
  uint64_t buffer_size; /* bytes of its buffer on the device, four for each element and padding */
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

/* A launch of a kernel. */
typedef struct tflgpu_step {
  uint32_t kernel;
  uint32_t grid[3]; /* work-items; of a persistent kernel, one for each resident group */
  uint32_t group[3];
  uint32_t counters; /* bytes of a persistent kernel's first buffer, which holds zeros; else 0 */
  uint32_t first_argument, argument_count;
} tflgpu_step;

/* Everything that one run launches, in order. */
typedef struct tflgpu_schedule {
  const char *const *source; /* pieces of one text */
  uint32_t source_count;
  const char *options; /* of the driver's compiler */
  const char *const *kernels; /* names of entry points */
  uint32_t kernel_count;
  const tflgpu_step *steps;
  uint32_t step_count;
  const tflgpu_argument *arguments;
} tflgpu_schedule;

/* A tensor that keeps its content between runs. */
typedef struct tflgpu_variable {
  uint64_t size;        /* bytes of its buffer */
  uint64_t content;     /* where its first content lies in the weights */
  uint64_t content_size; /* 0 if it starts with zeros */
} tflgpu_variable;

typedef struct tflgpu_model {
  const char *name;
  const char *digest; /* of everything in these tables; names the files of compiled kernels */
  const tflgpu_tensor *inputs;
  uint32_t input_count;
  const tflgpu_tensor *outputs;
  uint32_t output_count;
  const tflgpu_variable *variables;
  uint32_t variable_count;
  uint64_t arena_size;
  uint64_t weights_size;
  uint32_t weights_crc32;
  const void *weights;    /* NULL if they are in a file */
  uint32_t alignment;     /* bytes; every offset of an argument is a multiple of it */
  uint32_t group[3];      /* the largest work-group along each axis, and in all */
  uint32_t group_size;
  uint32_t local_memory;  /* bytes */
  uint64_t image_texels;  /* of the largest image; 0 without images */
  const char *extension;  /* that the kernels need; NULL for none */
  const tflgpu_schedule *dispatches; /* a launch for each kernel */
  const tflgpu_schedule *persistent; /* for processors, whose launches are slow; NULL for none */
} tflgpu_model;

/* -- sessions ------------------------------------------------------------------------------- */

typedef struct tflgpu_session tflgpu_session;

typedef struct tflgpu_options {
  const char *device;       /* a part of the device's or platform's name; NULL for the best */
  const char *weights_file; /* NULL for weights.bin in the current folder */
  const void *weights;      /* the content of weights.bin, valid until tflgpu_close; NULL: the file */
  uint64_t weights_size;
  const char *cache_folder; /* where compiled kernels are kept; NULL to compile them every time */
} tflgpu_options;

/* Loads a model onto a device. `options` and `error` may be NULL. NULL if that fails. */
tflgpu_session *tflgpu_open(const tflgpu_model *model, const tflgpu_options *options,
                            tflgpu_error *error);

/* Runs the model on arrays of the host, in the order of its inputs and outputs. An output that is
 * NULL is not copied. */
tflgpu_status tflgpu_run(tflgpu_session *session, const void *const *inputs, void *const *outputs,
                         tflgpu_error *error);

/* Gives every variable its first content. */
tflgpu_status tflgpu_reset(tflgpu_session *session, tflgpu_error *error);

/* Frees everything; NULL is allowed. */
void tflgpu_close(tflgpu_session *session);

/* Bytes of a tensor in memory of the host. */
uint64_t tflgpu_byte_size(const tflgpu_tensor *tensor);

/* The name of the device, valid until tflgpu_close. */
const char *tflgpu_device_name(const tflgpu_session *session);

/* Whether the kernels came from the cache folder. */
int tflgpu_restored(const tflgpu_session *session);

#ifdef __cplusplus
}
#endif

#endif
