/* What is used of Android's header, for systems without it. */
#ifndef HARDWARE_BUFFER_H
#define HARDWARE_BUFFER_H

#include <stdint.h>

typedef struct AHardwareBuffer AHardwareBuffer;

typedef struct AHardwareBuffer_Desc {
  uint32_t width, height, layers, format;
  uint64_t usage;
  uint32_t stride, rfu0;
  uint64_t rfu1;
} AHardwareBuffer_Desc;

enum { AHARDWAREBUFFER_FORMAT_BLOB = 0x21 };

void AHardwareBuffer_describe(const AHardwareBuffer *, AHardwareBuffer_Desc *);

#endif
