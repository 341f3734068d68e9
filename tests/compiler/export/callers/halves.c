/* Writes the bits of every half float as a float, then the half floats nearest to floats whose bits
 * it reads. */
#include "tflgpu.c"

int main(void) {
  uint32_t bits, half;
  uint16_t narrow;
  for (half = 0; half < 65536; half++) {
    bits = widened((uint16_t)half);
    fwrite(&bits, sizeof bits, 1, stdout);
  }
  while (fread(&bits, sizeof bits, 1, stdin) == 1) {
    narrow = narrowed(bits);
    fwrite(&narrow, sizeof narrow, 1, stdout);
  }
  return 0;
}
