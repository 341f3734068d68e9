"""The names under which scripts import LiteRT, given to the classes here.

An alias is put in `sys.modules`, so that nothing of that name need be installed. TensorFlow is the
exception: a script may use other parts of it, so where it is installed it is imported as usual, and
only its names for LiteRT are replaced.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import version
from types import ModuleType
from typing import Any

from ..runtime.litert.module import keep_interpreter_module

TENSORFLOW = "tensorflow"

_INTERPRETER = ("Delegate", "Interpreter", "OpResolverType", "SignatureRunner", "load_delegate")
_OPTIONS = ("CpuKernelMode", "CpuOptions", "GpuOptions", "HardwareAccelerator", "Options")
_ENVIRONMENT = ("Environment", "EnvironmentOptions")
# The names in each alias, of classes of this package.
LITERT: Mapping[str, Sequence[str]] = {
    "ai_edge_litert.compiled_model": ("CompiledModel", "TensorBuffer", *_OPTIONS, *_ENVIRONMENT),
    "ai_edge_litert.cpu_options": _OPTIONS,
    "ai_edge_litert.environment": _ENVIRONMENT,
    "ai_edge_litert.gpu_options": _OPTIONS,
    "ai_edge_litert.hardware_accelerator": _OPTIONS,
    "ai_edge_litert.interpreter": _INTERPRETER,
    "ai_edge_litert.options": _OPTIONS,
    "ai_edge_litert.tensor_buffer": ("TensorBuffer",),
    "tflite_runtime.interpreter": _INTERPRETER,
}
# The names of LiteRT in TensorFlow.
TF_LITE: Mapping[str, Sequence[str]] = {
    "tensorflow.lite": ("Interpreter",),
    "tensorflow.lite.experimental": ("OpResolverType", "load_delegate"),
    "tensorflow.lite.python.interpreter": _INTERPRETER,
}


def install() -> None:
    """Let every later import of LiteRT's interface find the one here."""
    keep_interpreter_module()  # for parts on LiteRT
    for name, classes in LITERT.items():
        _alias(name, classes)
    if PathFinder.find_spec(TENSORFLOW) is None:
        for name, classes in TF_LITE.items():
            _alias(name, classes)
    else:
        sys.meta_path.insert(0, _TensorFlowFinder())


def _content(classes: Sequence[str]) -> Mapping[str, Any]:
    return {name: getattr(sys.modules[str(__package__)], name) for name in classes}


def _alias(name: str, classes: Sequence[str]) -> None:
    """Make a module of this name, and the packages it is in unless they are installed."""
    module = _made(name)
    module.__dict__.update(_content(classes))
    while package := name.rpartition(".")[0]:
        outer = _package(package)
        setattr(outer, name.rpartition(".")[2], module)
        name, module = package, outer


def _package(name: str) -> ModuleType:
    if name not in sys.modules:
        try:
            import_module(name)
        except ImportError:
            _made(name)
    return sys.modules[name]


def _made(name: str) -> ModuleType:
    module = ModuleType(name, "LiteRT's interface, on tflgpu.")
    module.__spec__ = ModuleSpec(name, None, is_package=True)
    module.__dict__.update(__path__=[], __version__=version("tflgpu"))
    sys.modules[name] = module
    return module


class _TensorFlowFinder(MetaPathFinder):
    """Finds TensorFlow, to be loaded by `_TensorFlowLoader`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname == TENSORFLOW else None
        if spec is not None and spec.loader is not None:
            spec.loader = _TensorFlowLoader(spec.loader)
        return spec


class _TensorFlowLoader(Loader):
    """Loads TensorFlow, then replaces its names for LiteRT."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        for name, content in ((name, _content(classes)) for name, classes in TF_LITE.items()):
            with suppress(ImportError):
                import_module(name).__dict__.update(content)
            with suppress(AttributeError):
                _attribute(module, name).__dict__.update(content)


def _attribute(module: ModuleType, name: str) -> Any:
    """What a dotted name that starts with the module's means (AttributeError)."""
    found: Any = module
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found
