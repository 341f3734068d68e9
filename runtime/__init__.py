"""The runtime: loads a compiled model from a cache folder and runs it.

Importing this package is cheap. numpy and the drivers' interfaces are imported when a model is
loaded, the compiler never.
"""

from typing import TYPE_CHECKING

from .api import load as load
from .drivers import devices as devices
from .errors import BuildError as BuildError
from .errors import CacheWarning as CacheWarning
from .errors import DeviceError as DeviceError
from .errors import DeviceWarning as DeviceWarning
from .errors import InputError as InputError
from .errors import PlanError as PlanError
from .errors import StoreError as StoreError
from .errors import TflgpuError as TflgpuError
from .late_names import late_names

if TYPE_CHECKING:
    from .binding.bound import BoundRun as BoundRun
    from .binding.submitted import SubmittedRun as SubmittedRun
    from .launch.device import DeviceInfo as DeviceInfo
    from .plan.records import TensorInfo as TensorInfo
    from .session import Session as Session

# Hidden from type checkers, which would take it to provide any name.
if not TYPE_CHECKING:
    # Drivers start before these classes are imported.
    __getattr__ = late_names(
        __name__,
        {
            "binding.bound": ["BoundRun"],
            "binding.submitted": ["SubmittedRun"],
            "launch.device": ["DeviceInfo"],
            "plan.records": ["TensorInfo"],
            "session": ["Session"],
        },
    )
