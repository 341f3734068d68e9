"""The vocabulary of operator modules: definitions, launches, storages, tiles, views and windows."""

from .along import Along
from .cost import IN_ROWS, LANES, MASKED_SLICES, WHOLE_SLICES, Loads, Step
from .definition import (
    FUSED_ACTIVATION,
    OPS,
    Build,
    Implementation,
    Infer,
    OpDef,
    Reason,
    Reference,
    TiledImplementation,
    activation_of,
    define,
    row_major,
    traits_of,
    weights_of,
    window_of,
)
from .launch import (
    LINEAR_ROW,
    Constant,
    Grid,
    Launch,
    WorkGroup,
    image_launch,
    linear_grid,
    linear_launch,
    sliced_grid,
)
from .operands import Operands, declare, operands_of
from .shapes import (
    as_inferred,
    broadcast,
    broadcast_shapes,
    image_shape,
    normalize_axis,
    same_as_first,
    second_operand_axis,
)
from .storage import (
    HALF_LANE,
    LINEAR,
    SLICED,
    bhwc,
    device_array,
    element_bytes,
    element_dtype,
    fits_half,
    halves_rows,
    lane_of,
    linear_bytes,
    pack_slices,
    slice_bytes,
    slice_count,
    sliced_bytes,
    stored_bytes,
)
from .tile import Tile, TileLimits, TileShape, choose_tile
from .traits import (
    NO_TRAITS,
    Permutable,
    Range,
    RangeOf,
    Traits,
    Weights,
    always,
    among_operands,
    by_attributes,
    hull,
)
from .types import ANY, FLOATS, INTEGERS, kernel_dtype
from .view import StridedLayout, View, row_major_view, sliced_view
from .window import Window
