"""The Python interface of LiteRT, on tflgpu.

    from tflgpu.litert import Interpreter

replaces the import of `Interpreter` from `ai_edge_litert.interpreter`, `tflite_runtime.interpreter`
or `tf.lite`; the rest of a script stays as it is. Models are compiled when tensors are allocated,
into the user's cache folder, and loaded from there the next time. docs/litert.md lists what each
method does here.
"""

from .compiled_model import CompiledModel as CompiledModel
from .interpreter import Interpreter as Interpreter
from .interpreter import OpResolverType as OpResolverType
from .interpreter import SignatureRunner as SignatureRunner
from .options import CpuKernelMode as CpuKernelMode
from .options import CpuOptions as CpuOptions
from .options import Delegate as Delegate
from .options import Environment as Environment
from .options import EnvironmentOptions as EnvironmentOptions
from .options import GpuOptions as GpuOptions
from .options import HardwareAccelerator as HardwareAccelerator
from .options import Options as Options
from .options import load_delegate as load_delegate
from .tensor_buffer import TensorBuffer as TensorBuffer
