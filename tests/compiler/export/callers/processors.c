/* Prints how many processors the OpenCL runtime would use; with two files of a control group, how
 * many of 64 processors their quota leaves. */
#include "tflgpu_opencl.c"

int main(int count, char **words) {
  long processors = 64;
  const char *paths[2] = {NULL, NULL};
  int i;
  for (i = 1; i < count && i < 3; i++) paths[i - 1] = words[i];
  if (count > 1)
    lower_to_quota(&processors, paths);
  else
    processors = (long)usable_processors();
  printf("%ld\n", processors);
  return 0;
}
