"""Tensors of LiteRT as arrays."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..launch.memory import Array


def array_of(interpreter: Any, item: Mapping[str, Any]) -> Array:
    """The numbers of a tensor, given by its details.

    LiteRT hands out no empty tensor, and for one of rank 0 a number that is no array.
    """
    if 0 in item["shape"]:
        return np.empty(item["shape"], item["dtype"])
    return np.asarray(interpreter.get_tensor(item["index"]))
