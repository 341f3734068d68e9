/* The part of the runtime that all drivers share: the same file for every model. See tflgpu.h. */
#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "tflgpu_backend.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#endif

/* -- errors --------------------------------------------------------------------------------- */

tflgpu_status tflgpu_fail(tflgpu_error *error, tflgpu_status status, const char *format, ...) {
  va_list arguments;
  if (error) {
    error->status = status;
    va_start(arguments, format);
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

tflgpu_status tflgpu_out_of_memory(tflgpu_error *error) {
  return tflgpu_fail(error, TFLGPU_OUT_OF_MEMORY, "the host is out of memory");
}

tflgpu_status tflgpu_no_device(tflgpu_error *error, const char *api, const char *wanted,
                               const char *advice) {
  if (wanted)
    return tflgpu_fail(error, TFLGPU_NO_DRIVER, "no %s device has \"%s\" in its name", api, wanted);
  return tflgpu_fail(error, TFLGPU_NO_DRIVER, "there is no %s device%s", api, advice);
}

tflgpu_status tflgpu_rejected(const tflgpu_session *session, const tflgpu_kernel *kernel,
                              const char *log, tflgpu_error *error) {
  return tflgpu_fail(error, TFLGPU_BUILD_FAILED, "%s rejects the kernel %s of %s:\n%s",
                     session->device.name, kernel->name, session->model->name, log);
}

/* -- what drivers may lack ------------------------------------------------------------------ */

tflgpu_status tflgpu_enter(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  return backend->enter ? backend->enter(session, error) : TFLGPU_OK;
}

void tflgpu_leave(tflgpu_session *session) {
  const tflgpu_backend *backend = session->model->backend;
  if (backend->leave) backend->leave(session);
}

void tflgpu_find(tflgpu_session *session, const char *name, void *function) {
  const tflgpu_backend *backend = session->model->backend;
  memset(function, 0, sizeof(void (*)(void)));
  if (backend->find) backend->find(session, name, function);
}

static tflgpu_status bind_steps(tflgpu_session *session, const void *buffer, tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  return backend->bind ? backend->bind(session, buffer, error) : TFLGPU_OK;
}

/* -- libraries ------------------------------------------------------------------------------ */

void *tflgpu_open_library(const char *const *names, size_t count) {
  void *library = NULL;
  for (; !library && count; count--, names++)
#ifdef _WIN32
    library = (void *)LoadLibraryA(*names);
#else
    library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
#endif
  return library;
}

void tflgpu_find_symbol(void *library, const char *name, void *function) {
#ifdef _WIN32
  FARPROC found = GetProcAddress((HMODULE)library, name);
#else
  void *found = dlsym(library, name);
#endif
  memcpy(function, &found, sizeof found); /* C99 has no cast from an object to a function */
}

/* -- variants ------------------------------------------------------------------------------- */

static int lower(int letter) {
  return letter >= 'A' && letter <= 'Z' ? letter + 'a' - 'A' : letter;
}

int tflgpu_contains(const char *text, const char *part) {
  size_t i;
  for (;; text++) {
    for (i = 0; part[i] && lower((unsigned char)text[i]) == lower((unsigned char)part[i]); i++) {}
    if (!part[i]) return 1;
    if (!*text) return 0;
  }
}

uint32_t tflgpu_loop_limit(const char *renderer) {
  return tflgpu_contains(renderer, "llvmpipe") ? 65535 : 0;
}

int tflgpu_lists(const char *list, const char *word) {
  const size_t length = strlen(word);
  const char *place = list;
  for (; (place = strstr(place, word)) != NULL; place += length)
    if ((place == list || strchr(" \t:", place[-1])) && (!place[length] || place[length] == ' ' ||
                                                         place[length] == '\n'))
      return 1;
  return 0;
}

void tflgpu_instructions(char *line, size_t size) {
#ifdef __linux__
  FILE *file = fopen("/proc/cpuinfo", "r");
  int found = 0;
  while (file && !found && fgets(line, (int)size, file))
    found = !strncmp(line, "flags", 5) || !strncmp(line, "Features", 8);
  if (file) fclose(file);
  if (found) return;
#endif
  if (size) line[0] = '\0';
}

static int holds(tflgpu_session *session, const tflgpu_rule *rule) {
  const tflgpu_device *device = &session->device;
  const tflgpu_backend *backend = session->model->backend;
  return (!rule->type || !strcmp(rule->type, device->type)) &&
         (!rule->vendor || tflgpu_contains(device->vendor, rule->vendor)) &&
         (!rule->platform || tflgpu_contains(device->platform, rule->platform)) &&
         (!rule->name || tflgpu_contains(device->name, rule->name)) &&
         (!rule->lanes || rule->lanes == device->lanes) &&
         (!rule->instruction || (backend->has_instruction &&
                                 backend->has_instruction(session, rule->instruction))) &&
         (!rule->extension || backend->has_extension(session, rule->extension));
}

/* How well a variant suits the device: greater is better, 0 if no rule holds. */
static uint32_t suitability(tflgpu_session *session, const tflgpu_variant *variant) {
  uint32_t i, best = 0;
  for (i = 0; i < variant->rule_count; i++)
    if (variant->rules[i].conditions >= best && holds(session, &variant->rules[i]))
      best = variant->rules[i].conditions + 1;
  return best;
}

/* Whether the device has what a variant needs. */
static tflgpu_status check_needs(tflgpu_session *session, const tflgpu_variant *variant,
                                 tflgpu_error *error) {
  const tflgpu_limits *needs = &variant->needs, *has = &session->device.limits;
  const struct {
    const char *what;
    uint64_t needed, limit;
  } numbers[] = {
      {"work-items in a work-group", needs->group, has->group},
      {"work-items along x in a work-group", needs->group_sizes[0], has->group_sizes[0]},
      {"work-items along y in a work-group", needs->group_sizes[1], has->group_sizes[1]},
      {"work-items along z in a work-group", needs->group_sizes[2], has->group_sizes[2]},
      {"work-groups along x in a launch", needs->group_counts[0], has->group_counts[0]},
      {"work-groups along y in a launch", needs->group_counts[1], has->group_counts[1]},
      {"work-groups along z in a launch", needs->group_counts[2], has->group_counts[2]},
      {"bytes of local memory", needs->local_memory, has->local_memory},
      {"buffers of a kernel", needs->arguments, has->arguments},
      {"bytes in an argument", needs->argument_size, has->argument_size},
      {"bytes in a buffer", needs->buffer_size, has->buffer_size},
      {"texels in an image of a buffer", needs->image_texels, has->image_texels},
      {"iterations of loops", needs->iterations, has->iterations ? has->iterations : UINT32_MAX},
  };
  const char *model = session->model->name, *device = session->device.name, *name;
  size_t i;
  if (has->alignment && needs->alignment % has->alignment)
    return tflgpu_fail(error, TFLGPU_UNFIT_DEVICE,
                       "%s aligns buffers to %lu bytes, but %s was compiled for %lu; compile it "
                       "for this device",
                       device, (unsigned long)has->alignment, model,
                       (unsigned long)needs->alignment);
  for (i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (numbers[i].needed > numbers[i].limit)
      return tflgpu_fail(error, TFLGPU_UNFIT_DEVICE,
                         "%s allows %lu %s, but %s was compiled for %lu; compile it for this "
                         "device",
                         device, (unsigned long)numbers[i].limit, numbers[i].what, model,
                         (unsigned long)numbers[i].needed);
  for (name = variant->extensions; name && *name; name += strspn(name, " ")) {
    const size_t length = strcspn(name, " ");
    char extension[64];
    snprintf(extension, sizeof extension, "%.*s", (int)length, name);
    if (!session->model->backend->has_extension(session, extension))
      return tflgpu_fail(error, TFLGPU_UNFIT_DEVICE, "%s lacks %s", device, extension);
    name += length;
  }
  return TFLGPU_OK;
}

/* Of the variants that can run, the most suitable one, the first of equals. If none can, the error
 * is that of the most suitable one. */
static tflgpu_status choose_variant(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  const tflgpu_variant *unfit = &model->variants[0];
  uint32_t i, best = 0, best_unfit = 0;
  for (i = 0; i < model->variant_count; i++) {
    const tflgpu_variant *variant = &model->variants[i];
    uint32_t suits = suitability(session, variant);
    if (check_needs(session, variant, NULL)) {
      if (suits > best_unfit) unfit = variant;
      if (suits > best_unfit) best_unfit = suits;
    } else if (!session->variant || suits > best) {
      session->variant = variant;
      best = suits;
    }
  }
  return session->variant ? TFLGPU_OK : check_needs(session, unfit, error);
}

/* The variant for the same kind of device as that of the first session. */
static tflgpu_status choose_same_variant(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_session *first = session->first;
  session->variant = &session->model->variants[first->variant - first->model->variants];
  return check_needs(session, session->variant, error);
}

/* -- files ---------------------------------------------------------------------------------- */

uint32_t tflgpu_crc32(uint32_t crc, const void *data, uint64_t size) {
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
  if (content) UnmapViewOfFile(content);
#else
  if (content) munmap(content, (size_t)size);
#endif
}

/* A file in memory, to be given back with `unmap`; NULL if it cannot be read or is empty. */
static void *map_file(const char *path, uint64_t *size) {
#ifdef _WIN32
  void *content = NULL;
  LARGE_INTEGER length;
  HANDLE mapping = NULL;
  HANDLE file = CreateFileA(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
  if (file == INVALID_HANDLE_VALUE) return NULL;
  if (GetFileSizeEx(file, &length)) {
    *size = (uint64_t)length.QuadPart;
    mapping = CreateFileMappingA(file, NULL, PAGE_READONLY, 0, 0, NULL);
  }
  if (mapping) {
    content = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0);
    CloseHandle(mapping);
  }
  CloseHandle(file);
  return content;
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

/* -- weights -------------------------------------------------------------------------------- */

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
      return tflgpu_fail(error, TFLGPU_BAD_WEIGHTS, "the weights in %s cannot be read", file);
  }
  if (size != model->weights_size)
    return tflgpu_fail(error, TFLGPU_BAD_WEIGHTS,
                       "the weights in %s have %lu bytes instead of %lu", file,
                       (unsigned long)size, (unsigned long)model->weights_size);
  if (tflgpu_crc32(0, session->weights, size) != model->weights_crc32)
    return tflgpu_fail(error, TFLGPU_BAD_WEIGHTS,
                       "the weights in %s are damaged or of another model", file);
  return TFLGPU_OK;
}

/* The weights of the variant, one after the other; NULL if memory is missing. */
static const void *variant_weights(tflgpu_session *session) {
  const tflgpu_variant *variant = session->variant;
  const char *from = (const char *)session->weights;
  uint32_t i;
  if (variant->span_count == 1) return from + variant->spans[0].from;
  session->joined = calloc((size_t)variant->weights_size + 1, 1);
  for (i = 0; session->joined && i < variant->span_count; i++)
    memcpy((char *)session->joined + variant->spans[i].to, from + variant->spans[i].from,
           (size_t)variant->spans[i].size);
  return session->joined;
}

/* -- compiled kernels ----------------------------------------------------------------------- */

/* What stands before a binary in its file. */
typedef struct binary_header {
  char magic[8];
  uint64_t size;
  uint32_t key, crc32;
} binary_header;

static const char binary_magic[8] = {'t', 'f', 'l', 'g', 'p', 'u', 'b', '1'};

/* Makes a folder unless it is there. Whether others cannot put binaries into it: they would run as
 * this program. */
static int make_private(const char *folder) {
#ifdef _WIN32
  CreateDirectoryA(folder, NULL);
  return GetFileAttributesA(folder) != INVALID_FILE_ATTRIBUTES;
#else
  struct stat status;
  mkdir(folder, 0700);
  return !stat(folder, &status) && S_ISDIR(status.st_mode) && status.st_uid == geteuid() &&
         !(status.st_mode & (S_IWGRP | S_IWOTH));
#endif
}

/* Differs between devices, drivers and schedules whose binaries differ. */
static uint32_t binary_key(tflgpu_session *session) {
  const char *digest = session->variant->digest, *options = session->schedule->options;
  uint32_t key = tflgpu_crc32(0, digest, strlen(digest));
  key = tflgpu_crc32(key, options, strlen(options) + 1);
  key = session->model->backend->identify(session, key);
  if (session->device.on_processor) { /* compiled for this very one, whatever its name says */
    char line[4096];
    tflgpu_instructions(line, sizeof line);
    key = tflgpu_crc32(key, line, strlen(line));
  }
  return key;
}

/* FOLDER/DIGEST-KEY.ENDING, which the caller frees. */
static char *binary_path(const char *folder, const char *digest, uint32_t key,
                         const char *ending) {
  size_t size = strlen(folder) + strlen(digest) + 32;
  char *path = (char *)malloc(size);
  if (path) snprintf(path, size, "%s/%s-%08lx.%s", folder, digest, (unsigned long)key, ending);
  return path;
}

/* Takes the kernels from the cache folder if there is a whole file that the driver accepts. */
static int restore_kernels(tflgpu_session *session, const char *folder, uint32_t key) {
  char *path = binary_path(folder, session->variant->digest, key, "bin");
  uint64_t size = 0;
  unsigned char *content = path ? read_file(path, &size) : NULL;
  binary_header header;
  int restored = 0;
  if (content && size > sizeof header) {
    const unsigned char *binary = content + sizeof header;
    size_t length = (size_t)(size - sizeof header);
    memcpy(&header, content, sizeof header);
    restored = !memcmp(header.magic, binary_magic, sizeof header.magic) && header.key == key &&
               header.size == length && header.crc32 == tflgpu_crc32(0, binary, length) &&
               session->model->backend->restore(session, binary, length);
  }
  free(content);
  free(path);
  return restored;
}

/* A new file that other users can neither read nor replace, NULL if it cannot be made. One that is
 * older than a minute was left by a program that was killed. */
static FILE *unfinished_file(const char *name) {
#ifdef _WIN32
  return fopen(name, "wb");
#else
  FILE *file = NULL;
  struct stat status;
  int number;
  if (!lstat(name, &status) && time(NULL) - status.st_mtime > 60) remove(name);
  number = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (number >= 0 && !(file = fdopen(number, "wb"))) close(number);
  return file;
#endif
}

/* Writes the kernels into the cache folder: whole, or not at all. That it could not is no error. */
static void store_kernels(tflgpu_session *session, const char *folder, uint32_t key) {
  size_t size = 0;
  unsigned char *content = session->model->backend->binary(session, &size);
  char *path = binary_path(folder, session->variant->digest, key, "bin");
  char *unfinished = binary_path(folder, session->variant->digest, key, "new");
  FILE *file = content && path && unfinished ? unfinished_file(unfinished) : NULL;
  binary_header header;
  int written;
  if (file) {
    memcpy(header.magic, binary_magic, sizeof header.magic);
    header.size = size;
    header.key = key;
    header.crc32 = tflgpu_crc32(0, content, size);
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

/* -- memory --------------------------------------------------------------------------------- */

size_t tflgpu_place(const tflgpu_model *model, int region, uint32_t index) {
  size_t first_output = 2u + model->input_count;
  switch (region) {
    case TFLGPU_ARENA: return 0;
    case TFLGPU_WEIGHTS: return 1;
    case TFLGPU_INPUT: return 2u + index;
    case TFLGPU_OUTPUT: return first_output + index;
    default: return first_output + model->output_count + index;
  }
}

void *tflgpu_buffer(const tflgpu_session *session, const tflgpu_argument *argument) {
  return session->buffers[tflgpu_place(session->model, argument->region, argument->index)];
}

int tflgpu_binds(const tflgpu_session *session, uint32_t step, const void *buffer) {
  const tflgpu_step *bound = &session->schedule->steps[step];
  const tflgpu_argument *argument = session->schedule->arguments + bound->first_argument;
  const tflgpu_argument *end = argument + bound->argument_count;
  if (!buffer) return 1;
  while (argument < end && tflgpu_buffer(session, argument) != buffer) argument++;
  return argument < end;
}

static size_t buffer_count(const tflgpu_model *model) {
  return tflgpu_place(model, TFLGPU_STATE, model->variable_count);
}

static tflgpu_status allocate(tflgpu_session *session, int region, uint32_t index, uint64_t size,
                              const void *content, tflgpu_error *error) {
  size_t place = tflgpu_place(session->model, (int)region, index);
  /* Drivers make no empty buffers. */
  tflgpu_status status = session->model->backend->allocate(session, size ? size : 16, content,
                                                           &session->own[place], error);
  session->buffers[place] = session->own[place];
  return status;
}

/* Bytes on the device: integers of 8 bits stay bytes, the elements of other types are words. */
static uint64_t device_size(const tflgpu_tensor *tensor) {
  const int narrow = tensor->type == TFLGPU_INT8 || tensor->type == TFLGPU_UINT8;
  return tensor->elements * (narrow ? 1 : 4);
}

/* The buffers of all inputs or outputs, whose words begin at `words`. */
static tflgpu_status allocate_tensors(tflgpu_session *session, int region,
                                      const tflgpu_tensor *tensors, uint32_t count, int32_t **words,
                                      tflgpu_error *error) {
  uint32_t i;
  tflgpu_status status;
  for (i = 0; i < count; i++) {
    const tflgpu_tensor *tensor = &tensors[i];
    if ((status = allocate(session, region, i, tensor->buffer_size, NULL, error))) return status;
    if (tflgpu_byte_size(tensor) == device_size(tensor)) continue;
    words[i] = (int32_t *)malloc((size_t)tensor->elements * 4 + 1);
    if (!words[i]) return tflgpu_out_of_memory(error);
  }
  return TFLGPU_OK;
}

/* The arena and the weights; those of the first session, as far as they are large enough. */
static tflgpu_status allocate_common(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_session *first = session->first;
  const tflgpu_variant *variant = session->variant;
  const void *weights = NULL;
  tflgpu_status status = TFLGPU_OK;
  if (session != first && variant->arena_size <= first->variant->arena_size)
    session->buffers[0] = first->buffers[0];
  else if ((status = allocate(session, TFLGPU_ARENA, 0, variant->arena_size, NULL, error)))
    return status;
  if (session != first) {
    session->buffers[1] = first->buffers[1];
    return status;
  }
  if (variant->weights_size && !(weights = variant_weights(session)))
    return tflgpu_out_of_memory(error);
  return allocate(session, TFLGPU_WEIGHTS, 0, variant->weights_size, weights, error);
}

static tflgpu_status allocate_buffers(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  size_t count = buffer_count(model);
  uint32_t i;
  tflgpu_status status;
  session->buffers = (void **)calloc(count, sizeof *session->buffers);
  session->own = (void **)calloc(count, sizeof *session->own);
  session->words =
      (int32_t **)calloc(model->input_count + model->output_count + 1u, sizeof *session->words);
  if (!session->buffers || !session->own || !session->words) return tflgpu_out_of_memory(error);
  if ((status = allocate_common(session, error)) ||
      (status = allocate_tensors(session, TFLGPU_INPUT, model->inputs, model->input_count,
                                 session->words, error)) ||
      (status = allocate_tensors(session, TFLGPU_OUTPUT, model->outputs, model->output_count,
                                 session->words + model->input_count, error)))
    return status;
  for (i = 0; i < model->variable_count; i++)
    if ((status = allocate(session, TFLGPU_STATE, i, model->variables[i].size, NULL, error)))
      return status;
  return TFLGPU_OK;
}

/* -- opening and closing -------------------------------------------------------------------- */

/* Allocates the buffers, and compiles or restores the kernels and binds them to these. */
static tflgpu_status prepare(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  const char *folder = backend->binary ? session->first->cache_folder : NULL;
  uint32_t key;
  tflgpu_status status = allocate_buffers(session, error);
  if (status) return status;
  session->schedule = session->device.resident_groups && session->variant->persistent
                          ? session->variant->persistent
                          : session->variant->dispatches;
  key = folder ? binary_key(session) : 0;
  /* Some drivers notice only when they bind that they cannot use what they accepted. */
  session->restored =
      folder && restore_kernels(session, folder, key) && !bind_steps(session, NULL, NULL);
  if (session->restored) return TFLGPU_OK;
  backend->discard(session);
  if ((status = backend->compile(session, error)) || (status = bind_steps(session, NULL, error)))
    return status;
  if (folder) {
    /* Some drivers compile at the first launch, so everything runs once before it is stored. */
    if ((status = backend->launch(session, error)) || (status = backend->finish(session, error)))
      return status;
    store_kernels(session, folder, key);
  }
  return TFLGPU_OK;
}

/* Gives a variable its first content. */
static tflgpu_status fill(tflgpu_session *session, uint32_t index, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  const tflgpu_variable *variable = &model->variables[index];
  void *buffer = session->buffers[tflgpu_place(model, TFLGPU_STATE, index)];
  tflgpu_status status = TFLGPU_OK;
  if (variable->size) status = model->backend->clear(session, buffer, variable->size, error);
  if (!status && variable->content_size)
    status = model->backend->write(session, buffer,
                                   (const char *)session->first->weights + variable->content,
                                   variable->content_size, error);
  return status;
}

static tflgpu_status reset(tflgpu_session *session, tflgpu_error *error) {
  tflgpu_status status = TFLGPU_OK;
  uint32_t i;
  for (i = 0; !status && i < session->model->variable_count; i++)
    status = fill(session, i, error);
  return status ? status : session->model->backend->finish(session, error);
}

/* The buffer that open sessions have for a variable; NULL if none has. */
static void *variable_buffer(const tflgpu_session *first, const char *name) {
  uint32_t i;
  for (; first; first = first->next)
    for (i = 0; i < first->model->variable_count; i++)
      if (!strcmp(first->model->variables[i].name, name))
        return first->buffers[tflgpu_place(first->model, TFLGPU_STATE, i)];
  return NULL;
}

/* Takes the variables that open sessions have in place of its own, which it was tried with. */
static tflgpu_status share_variables(tflgpu_session *session, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  tflgpu_status status = TFLGPU_OK;
  uint32_t i;
  for (i = 0; !status && i < model->variable_count; i++) {
    size_t place = tflgpu_place(model, TFLGPU_STATE, i);
    void *buffer = variable_buffer(session->first, model->variables[i].name);
    if (!buffer) {
      status = fill(session, i, error);
      continue;
    }
    session->buffers[place] = buffer;
    status = bind_steps(session, buffer, error);
    model->backend->release(session, session->own[place]);
    session->own[place] = NULL;
  }
  return status ? status : model->backend->finish(session, error);
}

#ifdef _WIN32
static SRWLOCK opening = SRWLOCK_INIT;
static void lock(void) { AcquireSRWLockExclusive(&opening); }
static void unlock(void) { ReleaseSRWLockExclusive(&opening); }
#else
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static void lock(void) { pthread_mutex_lock(&opening); }
static void unlock(void) { pthread_mutex_unlock(&opening); }
#endif

static tflgpu_status start(tflgpu_session *session, const tflgpu_options *options,
                           tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  const char *folder = options->cache_folder;
  tflgpu_status status;
  session->first = session;
  if (folder) {
    session->cache_folder = (char *)malloc(strlen(folder) + 1);
    if (!session->cache_folder) return tflgpu_out_of_memory(error);
    strcpy(session->cache_folder, folder);
    if (!make_private(folder))
      return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                         "the cache folder %s cannot be made, belongs to another user, or others "
                         "can write into it",
                         folder);
  }
  if ((status = find_weights(session, options, error))) return status;
  lock();
  status = backend->open(session, options, error);
  unlock();
  if (status) return status;
  session->opened = 1;
  if (!(status = choose_variant(session, error)) && !(status = prepare(session, error)))
    status = reset(session, error);
  tflgpu_leave(session);
  return status;
}

/* Loads another signature than the one that was opened. */
static tflgpu_status start_beside(tflgpu_session *session, tflgpu_session *first,
                                  tflgpu_error *error) {
  tflgpu_status status = session->model->backend->share(session, first, error);
  if (status) return status;
  session->opened = 1;
  session->first = first;
  session->device = first->device;
  if (!(status = choose_same_variant(session, error)) && !(status = prepare(session, error)))
    status = share_variables(session, error);
  tflgpu_leave(session);
  return status;
}

static tflgpu_session *new_session(const tflgpu_model *model, tflgpu_error *error) {
  tflgpu_session *session = (tflgpu_session *)calloc(1, model->backend->session_size);
  if (session)
    session->model = model;
  else
    tflgpu_out_of_memory(error);
  return session;
}

tflgpu_session *tflgpu_open(const tflgpu_model *model, const tflgpu_options *options,
                            tflgpu_error *error) {
  tflgpu_options defaults;
  tflgpu_session *session;
  memset(&defaults, 0, sizeof defaults);
  tflgpu_fail(error, TFLGPU_OK, "%s", "");
  if (!model) {
    tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "the model is missing");
    return NULL;
  }
  session = new_session(model, error);
  if (session && start(session, options ? options : &defaults, error)) {
    tflgpu_close(session);
    return NULL;
  }
  return session;
}

/* Frees what one session has. */
static void close_one(tflgpu_session *session) {
  const tflgpu_backend *backend = session->model->backend;
  size_t i;
  if (session->opened && !tflgpu_enter(session, NULL)) {
    backend->finish(session, NULL);
    if (session->schedule) backend->discard(session);
    for (i = 0; session->own && i < buffer_count(session->model); i++)
      if (session->own[i]) backend->release(session, session->own[i]);
    tflgpu_leave(session);
  }
  backend->close(session);
  unmap(session->mapped, session->mapped_size);
  for (i = 0; session->words && i < session->model->input_count + session->model->output_count; i++)
    free(session->words[i]);
  free(session->words);
  free(session->buffers);
  free(session->own);
  free(session->joined);
  free(session->cache_folder);
  free(session);
}

void tflgpu_close(tflgpu_session *session) {
  tflgpu_session *first = session ? session->first : NULL;
  while (first && first->next) {
    tflgpu_session *other = first->next;
    first->next = other->next;
    close_one(other);
  }
  if (first) close_one(first);
}

tflgpu_session *tflgpu_signature(tflgpu_session *session, const char *signature,
                                 tflgpu_error *error) {
  const tflgpu_model *model;
  tflgpu_session *first, *found;
  tflgpu_fail(error, TFLGPU_OK, "%s", "");
  if (!session || !signature) {
    tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "the session or the signature is missing");
    return NULL;
  }
  first = session->first;
  for (found = first; found; found = found->next)
    if (!strcmp(found->model->signature, signature)) return found;
  for (model = first->model; model; model = model->next)
    if (!strcmp(model->signature, signature)) break;
  if (!model) {
    tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "%s was not compiled for signature %s",
                first->model->name, signature);
    return NULL;
  }
  found = new_session(model, error);
  if (!found) return NULL;
  if (start_beside(found, first, error)) {
    close_one(found);
    return NULL;
  }
  found->next = first->next;
  first->next = found;
  return found;
}

const char *tflgpu_device_name(const tflgpu_session *session) { return session->device.name; }

const char *tflgpu_profile(const tflgpu_session *session) { return session->variant->profile; }

int tflgpu_restored(const tflgpu_session *session) { return session->restored; }

/* -- running -------------------------------------------------------------------------------- */

uint64_t tflgpu_byte_size(const tflgpu_tensor *tensor) {
  switch (tensor->type) {
    case TFLGPU_BOOL:
    case TFLGPU_INT8:
    case TFLGPU_UINT8: return tensor->elements;
    case TFLGPU_FLOAT16:
    case TFLGPU_INT16:
    case TFLGPU_UINT16: return tensor->elements * 2;
    case TFLGPU_INT64: return tensor->elements * 8;
    default: return tensor->elements * 4;
  }
}

/* The bits of a float with the value of a half float. */
static uint32_t widened(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 31) return sign | 0x7F800000u | mantissa << 13;
  if (exponent) return sign | (exponent + 112) << 23 | mantissa << 13;
  if (!mantissa) return sign;
  for (exponent = 113; !(mantissa & 1024); mantissa <<= 1) exponent--;
  return sign | exponent << 23 | (mantissa & 1023) << 13;
}

/* The nearest half float to the float with these bits, the even one of two. */
static uint16_t narrowed(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, value = bits & 0x7FFFFFFFu;
  uint32_t shift, mantissa, rest, half;
  if (value > 0x7F800000u) return (uint16_t)(sign | 0x7C00 | (value >> 13 & 1023) | 1);
  if (value >= 0x47800000u) return (uint16_t)(sign | 0x7C00);
  if (value >= 0x38800000u)
    return (uint16_t)(sign | (value - 0x38000000u + 0xFFF + (value >> 13 & 1)) >> 13);
  if (value < 0x33000000u) return (uint16_t)sign;
  shift = 126 - (value >> 23); /* denormal */
  mantissa = (value & 0x7FFFFF) | 0x800000;
  half = mantissa >> shift;
  rest = mantissa & ((1u << shift) - 1);
  half += rest > 1u << (shift - 1) || (rest == 1u << (shift - 1) && (half & 1));
  return (uint16_t)(sign | half);
}

/* Elements as the words of 32 bits that they are on the device; 0 if one does not fit. */
static int to_words(const tflgpu_tensor *tensor, const void *from, int32_t *to) {
  uint64_t i;
  uint32_t bits;
  for (i = 0; i < tensor->elements; i++) {
    switch (tensor->type) {
      case TFLGPU_FLOAT16:
        bits = widened(((const uint16_t *)from)[i]);
        memcpy(&to[i], &bits, sizeof bits);
        break;
      case TFLGPU_BOOL: to[i] = ((const uint8_t *)from)[i] != 0; break;
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
      case TFLGPU_FLOAT16: ((uint16_t *)to)[i] = narrowed((uint32_t)from[i]); break;
      case TFLGPU_BOOL: ((uint8_t *)to)[i] = from[i] != 0; break;
      case TFLGPU_INT16: ((int16_t *)to)[i] = (int16_t)from[i]; break;
      case TFLGPU_UINT16: ((uint16_t *)to)[i] = (uint16_t)from[i]; break;
      default: ((int64_t *)to)[i] = from[i];
    }
  }
}

static tflgpu_status upload(tflgpu_session *session, uint32_t index, const void *array,
                            tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  const tflgpu_tensor *tensor = &session->model->inputs[index];
  const size_t place = tflgpu_place(session->model, TFLGPU_INPUT, index);
  const int bound = session->buffers[place] != session->own[place];
  int32_t *words = session->words[index];
  tflgpu_status status;
  if (bound == (array != NULL))
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       bound ? "input %s is bound to a buffer, so its array must be NULL"
                       : "input %s is missing",
                       tensor->name);
  if (bound || !tensor->elements) return TFLGPU_OK;
  if (words) {
    /* The run before may not have copied them yet. */
    if (session->running && (status = backend->finish(session, error))) return status;
    session->running = 0;
    if (!to_words(tensor, array, words))
      return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                         "input %s has values that do not fit in 32 bits", tensor->name);
    array = words;
  }
  return backend->write(session, session->buffers[place], array, device_size(tensor), error);
}

static tflgpu_status begin(tflgpu_session *session, const void *const *inputs,
                           tflgpu_error *error) {
  tflgpu_status status;
  uint32_t i;
  for (i = 0; i < session->model->input_count; i++)
    if ((status = upload(session, i, inputs ? inputs[i] : NULL, error))) return status;
  session->running = 1;
  return session->model->backend->launch(session, error);
}

static tflgpu_status end(tflgpu_session *session, void *const *outputs, tflgpu_error *error) {
  const tflgpu_model *model = session->model;
  int32_t **words = session->words + model->input_count;
  tflgpu_status status;
  uint32_t i;
  for (i = 0; outputs && i < model->output_count; i++) {
    void *buffer = session->buffers[tflgpu_place(model, TFLGPU_OUTPUT, i)];
    if (outputs[i] && model->outputs[i].elements &&
        (status = model->backend->read(session, buffer, words[i] ? words[i] : outputs[i],
                                       device_size(&model->outputs[i]), error)))
      return status;
  }
  session->running = 0;
  if ((status = model->backend->finish(session, error))) return status;
  for (i = 0; outputs && i < model->output_count; i++)
    if (outputs[i] && words[i]) from_words(&model->outputs[i], words[i], outputs[i]);
  return TFLGPU_OK;
}

static tflgpu_status enter(tflgpu_session *session, tflgpu_error *error) {
  if (!session) return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "the session is missing");
  tflgpu_fail(error, TFLGPU_OK, "%s", "");
  return tflgpu_enter(session, error);
}

/* Leaves, with nothing left to run if a call has failed: the driver may still use arrays. */
static tflgpu_status leave(tflgpu_session *session, tflgpu_status status) {
  if (status) session->model->backend->finish(session, NULL);
  tflgpu_leave(session);
  return status;
}

tflgpu_status tflgpu_run(tflgpu_session *session, const void *const *inputs, void *const *outputs,
                         tflgpu_error *error) {
  tflgpu_status status = enter(session, error);
  if (status) return status;
  if (!(status = begin(session, inputs, error))) status = end(session, outputs, error);
  return leave(session, status);
}

tflgpu_status tflgpu_enqueue(tflgpu_session *session, const void *const *inputs, void **done,
                             tflgpu_error *error) {
  tflgpu_status status = enter(session, error);
  if (status) return status;
  if (!(status = begin(session, inputs, error)) && done)
    status = session->model->backend->signal(session, done, error);
  return leave(session, status);
}

tflgpu_status tflgpu_finish(tflgpu_session *session, void *const *outputs, tflgpu_error *error) {
  tflgpu_status status = enter(session, error);
  return status ? status : leave(session, end(session, outputs, error));
}

tflgpu_status tflgpu_reset(tflgpu_session *session, tflgpu_error *error) {
  tflgpu_status status = enter(session, error);
  tflgpu_session *each;
  if (status) return status;
  for (each = session->first; !status && each; each = each->next) status = reset(each, error);
  return leave(session, status);
}

/* Uses another buffer for an input or output; its own for NULL. */
static tflgpu_status exchange(tflgpu_session *session, tflgpu_region region, uint32_t index,
                              void *buffer, tflgpu_error *error) {
  const tflgpu_backend *backend = session->model->backend;
  const tflgpu_tensor *tensor = region == TFLGPU_INPUT ? &session->model->inputs[index]
                                                       : &session->model->outputs[index];
  const size_t place = tflgpu_place(session->model, (int)region, index);
  uint64_t size = tensor->buffer_size;
  tflgpu_status status;
  if (buffer && (status = backend->size(session, buffer, &size, error))) return status;
  if (size < tensor->buffer_size)
    return tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT,
                       "the buffer for %s has %lu bytes, but needs %lu", tensor->name,
                       (unsigned long)size, (unsigned long)tensor->buffer_size);
  session->buffers[place] = buffer ? buffer : session->own[place];
  status = bind_steps(session, session->buffers[place], error);
  if (status && buffer) exchange(session, region, index, NULL, NULL);
  return status;
}

static tflgpu_status bind_tensor(tflgpu_session *session, tflgpu_region region, uint32_t index,
                                 void *buffer, tflgpu_error *error) {
  tflgpu_status status = enter(session, error);
  uint32_t count;
  if (status) return status;
  count = region == TFLGPU_INPUT ? session->model->input_count : session->model->output_count;
  if (index < count) return leave(session, exchange(session, region, index, buffer, error));
  return leave(session, tflgpu_fail(error, TFLGPU_INVALID_ARGUMENT, "%s has no %s %lu",
                                    session->model->name,
                                    region == TFLGPU_INPUT ? "input" : "output",
                                    (unsigned long)index));
}

tflgpu_status tflgpu_bind_input(tflgpu_session *session, uint32_t index, void *buffer,
                                tflgpu_error *error) {
  return bind_tensor(session, TFLGPU_INPUT, index, buffer, error);
}

tflgpu_status tflgpu_bind_output(tflgpu_session *session, uint32_t index, void *buffer,
                                 tflgpu_error *error) {
  return bind_tensor(session, TFLGPU_OUTPUT, index, buffer, error);
}
