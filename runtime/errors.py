"""What can go wrong while a plan is loaded and run. Catch `TflgpuError` to catch everything."""


class TflgpuError(Exception):
    """Base of every error tflgpu raises on purpose. Any other exception is a bug in tflgpu."""


class PlanError(TflgpuError, ValueError):
    """Not a plan, another version's plan, the wrong kind of device, or damaged files.

    Raised by `load`. Usually the folder was truncated, edited or made by another version:
    compile the model again.
    """


class CacheWarning(UserWarning):
    """Compiled kernels could not be stored in the cache; everything works, but starts slowly."""


class InputError(TflgpuError, ValueError):
    """An array handed to `Session.run` has the wrong name, shape or type; the text says which."""


class DeviceError(TflgpuError, RuntimeError):
    """A driver call failed or no suitable device is present.

    Carries the status name (CL_OUT_OF_RESOURCES, not -5) and the device's name in its text.
    """


class BuildError(DeviceError):
    """A kernel was refused by the device's compiler.

    `kernel` names the file, `log` is what the compiler said, `source` is its numbered lines.
    """

    def __init__(self, kernel: str, log: str, source: str) -> None:
        self.kernel = kernel
        self.log = log
        self.source = source
        super().__init__(f"the device's compiler refused {kernel}:\n{log}")
