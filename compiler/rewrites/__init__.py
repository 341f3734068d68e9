"""The rewrites of the graph, in the order in which they run; each relies on those before it.

Input is the graph as read; output is a graph in which every operator is one kernel.
"""

from collections.abc import Mapping

from .canonicalize.infer_and_fold import eliminate_dead_code, infer_and_fold
from .canonicalize.resolve_control_flow import inline_subgraphs, resolve_control_flow
from .decompose.decomposition import decompose_operators
from .decompose.dequantize_constants import dequantize_constants
from .decompose.hold_bfloat16 import hold_bfloat16
from .decompose.resolve_variables import resolve_variables
from .decompose.split_activation import split_activation
from .decompose.split_directions import split_directions
from .decompose.widen_halves import widen_halves
from .fold.add_fully_connected import add_fully_connected
from .fold.fold_constants import fold_constants
from .fold.fold_into_table import fold_into_table
from .fold.fold_pads import concat_to_pad, fold_pad_into_add, fold_pad_into_conv, fold_pad_into_pool
from .fold.fold_scales import fold_scale_before_conv, fold_scale_into_conv
from .fold.pool_to_mean import pool_to_mean
from .fuse.cast_to_view import cast_to_view
from .fuse.convolve_phases import convolve_phases
from .fuse.fuse_elementwise import fuse_elementwise, fuse_second_output
from .fuse.fuse_fully_connected_chain import fuse_fully_connected_chain
from .fuse.fuse_pointwise import fold_gate_into_conv, fuse_depthwise
from .fuse.fuse_row_scales import fuse_row_scales
from .fuse.join_gated_layers import join_gated_layers
from .fuse.join_projections import join_projections, join_rotations
from .fuse.lower_to_winograd import lower_to_winograd
from .fuse.normalize_in_products import normalize_in_products
from .fuse.rematerialize_elementwise import rematerialize_elementwise
from .fuse.separate_outputs import separate_outputs
from .fuse.split_large import split_large_weights, split_reduction
from .fuse.split_normalization import split_normalization
from .fuse.tie_tables import tie_tables
from .fuse.truth_in_floats import truth_in_floats
from .fuse.update_in_place import update_in_place
from .layout.align_unit_axes import align_unit_axes
from .layout.around_reshapes import cut_axes, merge_around_reshape, move_reshapes
from .layout.eliminate_common_subexpressions import eliminate_common_subexpressions
from .layout.fold_transposes import fold_transpose_into_reduction, fold_transpose_into_weights
from .layout.keep_reduced_axes import keep_reduced_axes
from .layout.merge_moves import (
    drop_identity,
    merge_concats,
    merge_reshapes,
    merge_transposes,
    transpose_to_reshape,
)
from .layout.move_transposes import move_transposes
from .layout.quantize_before_moves import quantize_before_moves
from .layout.resize_planes import resize_planes
from .layout.take_parts_of_concat import take_parts_of_concat
from .layout.turn_second_matrix import turn_second_matrix
from .quantized.lower_quantized import lower_quantized
from .quantized.store_integers import store_integers
from .recognize.dilate_conv import dilate_conv
from .recognize.multiply_from_left import multiply_from_left
from .recognize.normalize_groups import normalize_groups
from .recognize.recognize_activation import recognize_activation
from .recognize.recognize_attention import recognize_attention
from .recognize.recognize_normalization import recognize_normalization
from .recognize.recognize_roll import recognize_roll
from .recognize.recognize_rotation import recognize_rotation
from .recognize.recognize_softmax import recognize_softmax
from .rewrite import Pass

# Afterwards every shape is known, and every value that follows from constants is a constant.
CANONICALIZE: tuple[Pass, ...] = (
    inline_subgraphs,
    infer_and_fold,
    resolve_control_flow,
    eliminate_dead_code,
)

# Afterwards each operator does one thing, and every operator has an implementation.
DECOMPOSE: tuple[Pass, ...] = (
    resolve_variables,
    widen_halves,
    hold_bfloat16,
    split_directions,
    lower_quantized,
    dequantize_constants,
    split_activation,
    decompose_operators,
    fold_constants,
)

# Afterwards transposes and reshapes are as few as possible, and nothing is computed twice.
LAYOUT: tuple[Pass, ...] = (
    turn_second_matrix,
    keep_reduced_axes,
    align_unit_axes,
    move_reshapes,
    move_transposes,
    merge_around_reshape,
    fold_transpose_into_weights,
    merge_transposes,
    resize_planes,
    cut_axes,
    transpose_to_reshape,
    merge_reshapes,
    drop_identity,
    fold_transpose_into_reduction,
    take_parts_of_concat,
    merge_concats,
    eliminate_common_subexpressions,
    quantize_before_moves,
)

# Afterwards common patterns of several operators are single operators.
RECOGNIZE: tuple[Pass, ...] = (
    recognize_normalization,
    normalize_groups,
    recognize_activation,
    recognize_softmax,
    recognize_roll,
    multiply_from_left,
    dilate_conv,
)

# Afterwards arithmetic on constants is folded into weights, biases and attributes.
FOLD: tuple[Pass, ...] = (
    concat_to_pad,
    fold_pad_into_conv,
    fold_pad_into_pool,
    fold_pad_into_add,
    fold_scale_into_conv,
    fold_scale_before_conv,
    fold_into_table,
    add_fully_connected,
    pool_to_mean,
    fold_constants,
)

# Afterwards each operator is one kernel.
FUSE: tuple[Pass, ...] = (
    cast_to_view,
    convolve_phases,
    join_projections,
    join_rotations,
    split_large_weights,
    tie_tables,
    separate_outputs,
    update_in_place,
    split_reduction,
    split_normalization,
    truth_in_floats,
    fuse_elementwise,
    rematerialize_elementwise,
    fuse_second_output,
    fuse_row_scales,
    fold_gate_into_conv,
    fuse_fully_connected_chain,
    normalize_in_products,
    join_gated_layers,
    fuse_depthwise,
    lower_to_winograd,
)

# The rewrites of each stage, in the order in which they run.
STAGES: Mapping[str, tuple[Pass, ...]] = {
    "canonicalize": CANONICALIZE,
    "decompose": DECOMPOSE,
    # Attention and rotations are recognized before the transposes of heads are moved apart.
    "layout": (recognize_rotation, recognize_attention, *LAYOUT),
    "recognize": RECOGNIZE,
    "fold": FOLD,
    "fuse": (*FUSE, store_integers),
}

PIPELINE = tuple(each for passes in STAGES.values() for each in passes)

# Everything that runs after the graph is partitioned between the device and LiteRT.
LOWER = PIPELINE[len(CANONICALIZE) :]
