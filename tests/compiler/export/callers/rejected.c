/* Prints what the OpenCL runtime says where the driver's compiler does not begin: without a log, and
 * where it is refused. */
#include "tflgpu_opencl.c"

static cl_int refusal;

static cl_object TFLGPU_CALL create(cl_object context, cl_uint count, const char **source,
                                    const size_t *sizes, cl_int *code) {
  (void)context, (void)count, (void)source, (void)sizes;
  *code = 0;
  return &refusal;
}

static cl_int TFLGPU_CALL fail(cl_object program, cl_uint count, const cl_object *devices,
                               const char *options, void *notify, void *data) {
  (void)program, (void)count, (void)devices, (void)options, (void)notify, (void)data;
  return -6;
}

static cl_int TFLGPU_CALL log_of(cl_object program, cl_object device, cl_uint name, size_t size,
                                 void *value, size_t *needed) {
  (void)program, (void)device, (void)name, (void)size, (void)value, (void)needed;
  return refusal;
}

int main(void) {
  static tflgpu_schedule schedule;
  static tflgpu_model model;
  static opencl_session session;
  tflgpu_error error;
  schedule.options = "";
  model.name = "net";
  session.shared.schedule = &schedule;
  session.shared.model = &model;
  session.cl.CreateProgramWithSource = create;
  session.cl.BuildProgram = fail;
  session.cl.GetProgramBuildInfo = log_of;
  strcpy(session.shared.device.name, "a device");
  session.shared.device.type = "gpu";
  for (refusal = 0; refusal >= -44; refusal -= 44)
    if (compile(&session.shared, &error) == TFLGPU_BUILD_FAILED) puts(error.message);
  return 0;
}
