/* Say which digit a picture shows, without Python: the exported network, and a loader for pictures
 * in the formats PGM and PPM.
 *
 *     tflgpu-compile samples/digits/digits.tflite -o shipped/ --device gpu
 *     tflgpu export shipped/ -o exported/ --name digits --weights embed
 *     cc -std=c99 -O2 -Iexported -o classify samples/digits/classify.c \
 *         exported/digits_model.c exported/tflgpu*.c -ldl -lpthread
 *     ./classify 7.pgm
 *
 * The network was trained on bright strokes on black, 8 x 8 pixels, so a picture of any size is
 * made grey and averaged down to that; values 0 to 255 become 0 to 1. */
#include "digits_model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct picture {
  int width, height, channels;
  unsigned char *pixels; /* rows from the top, the channels of a pixel side by side */
} picture;

/* The next number of a header, after blanks and comments; 0 if there is none. */
static int read_number(FILE *file) {
  int value = 0, c = fgetc(file);
  while (isspace(c) || c == '#') {
    if (c == '#')
      while (c != '\n' && c != EOF) c = fgetc(file);
    else
      c = fgetc(file);
  }
  for (; isdigit(c) && value < 100000; c = fgetc(file)) value = 10 * value + (c - '0');
  return isspace(c) ? value : 0; /* a single blank follows, then pixels may */
}

/* Reads a picture of grey (P5) or of colours (P6), 8 bits a channel; 0 if the file is none. */
static int read_picture(const char *path, picture *to) {
  FILE *file = fopen(path, "rb");
  size_t size;
  int whole = 0, kind = 0;
  if (!file) return 0;
  if (fgetc(file) == 'P' && ((kind = fgetc(file)) == '5' || kind == '6')) {
    to->channels = kind == '5' ? 1 : 3;
    to->width = read_number(file);
    to->height = read_number(file);
    if (to->width && to->height && read_number(file) == 255) {
      size = (size_t)to->width * (size_t)to->height * (size_t)to->channels;
      to->pixels = (unsigned char *)malloc(size);
      whole = to->pixels && fread(to->pixels, size, 1, file) == 1;
    }
  }
  fclose(file);
  return whole;
}

/* The mean of the part of a picture that becomes pixel (x, y) of an image of side x side. */
static float mean_of(const picture *from, int x, int y, int side) {
  const int top = y * from->height / side, bottom = (y + 1) * from->height / side;
  const int left = x * from->width / side, right = (x + 1) * from->width / side;
  double sum = 0;
  int row, i;
  for (row = top; row < bottom; row++)
    for (i = left * from->channels; i < right * from->channels; i++)
      sum += from->pixels[(size_t)row * (size_t)(from->width * from->channels) + (size_t)i];
  return (float)(sum / ((bottom - top) * (right - left) * from->channels) / 255);
}

int main(int count, char **words) {
  enum { SIDE = 8, CLASSES = 10 };
  float image[SIDE * SIDE], probabilities[CLASSES];
  const void *inputs[] = {image};
  void *outputs[] = {probabilities};
  picture read = {0, 0, 0, NULL};
  tflgpu_error error;
  tflgpu_session *session;
  int i, best = 0, result = 1;
  if (count != 2) {
    fprintf(stderr, "usage: classify PICTURE.pgm\n");
    return 1;
  }
  if (!read_picture(words[1], &read) || read.width < SIDE || read.height < SIDE) {
    fprintf(stderr, "%s is not a PGM or PPM file of 8 x 8 pixels or more\n", words[1]);
    free(read.pixels);
    return 1;
  }
  for (i = 0; i < SIDE * SIDE; i++) image[i] = mean_of(&read, i % SIDE, i / SIDE, SIDE);
  session = tflgpu_open(&digits_model, NULL, &error);
  if (!session || tflgpu_run(session, inputs, outputs, &error)) {
    fprintf(stderr, "%s\n", error.message);
  } else {
    for (i = 1; i < CLASSES; i++)
      if (probabilities[i] > probabilities[best]) best = i;
    printf("%d  (%.1f %%)\n", best, 100 * (double)probabilities[best]);
    result = 0;
  }
  tflgpu_close(session);
  free(read.pixels);
  return result;
}
