"""Intrinsics: functions and macros that kernels call under one name in every language."""

from .arithmetic import ARITHMETIC, COMPARISONS, QUOTIENTS
from .bytes import BYTES
from .integers import INTEGERS
from .lanes import LANES
from .memory import MEMORY
from .packed import PACKED
from .processors import QUICK
from .sub_groups import SUB_GROUPS

_TABLES = (
    MEMORY,
    PACKED,
    BYTES,
    LANES,
    ARITHMETIC,
    QUICK,
    COMPARISONS,
    QUOTIENTS,
    INTEGERS,
    SUB_GROUPS,
)

# Every intrinsic by name; definitions stand in kernels in this order.
INTRINSICS = {each.name: each for table in _TABLES for row in table for each in row.variants}
