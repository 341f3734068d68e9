"""The rewrites, and the order they run in. Order is meaning: each line relies on those above."""

from .add_fully_connected import add_fully_connected
from .chain_dense import chain_dense
from .compose_pointwise import compose_pointwise
from .concat_to_pad import concat_to_pad
from .depthwise_to_grouped import depthwise_to_grouped
from .dequantize_constants import dequantize_constants
from .dilate_conv import dilate_conv
from .divide_by_winograd import divide_by_winograd
from .drop_dead import drop_dead
from .drop_identity import drop_identity
from .expand_operators import expand_operators
from .fold_gate_into_conv import fold_gate_into_conv
from .fold_pad_into_add import fold_pad_into_add
from .fold_pad_into_conv import fold_pad_into_conv
from .fold_pad_into_pool import fold_pad_into_pool
from .fold_scale_before_conv import fold_scale_before_conv
from .fold_scale_into_conv import fold_scale_into_conv
from .fold_transpose_into_reduction import fold_transpose_into_reduction
from .fold_transpose_into_weights import fold_transpose_into_weights
from .fuse_depthwise import fuse_depthwise
from .fuse_elementwise import fuse_elementwise
from .fuse_second_output import fuse_second_output
from .inline_subgraphs import inline_subgraphs
from .merge_around_reshape import merge_around_reshape
from .merge_duplicates import merge_duplicates
from .merge_reshapes import merge_reshapes
from .merge_transposes import merge_transposes
from .move_negation import move_negation
from .move_reshapes import move_reshapes
from .move_transposes import move_transposes
from .multiply_from_left import multiply_from_left
from .pack_to_concat import pack_to_concat
from .pool_to_mean import pool_to_mean
from .propagate import propagate
from .recognise_activation import recognise_activation
from .recognise_normalization import recognise_normalization
from .recognise_softmax import recognise_softmax
from .repeat_elementwise import repeat_elementwise
from .reshape_fully_connected import reshape_fully_connected
from .resolve_control_flow import resolve_control_flow
from .resolve_variables import resolve_variables
from .rewrite import Event, Pass
from .separate_outputs import separate_outputs
from .split_activation import split_activation
from .transpose_conv_to_conv import transpose_conv_to_conv
from .transpose_to_reshape import transpose_to_reshape

PIPELINE: tuple[Pass, ...] = (
    # From here on every shape is known and what follows from constants is a constant.
    inline_subgraphs,
    resolve_variables,
    propagate,
    resolve_control_flow,
    drop_dead,
    # From here on an operator does one thing, and kernels exist for what is left.
    dequantize_constants,
    split_activation,
    expand_operators,
    pack_to_concat,
    reshape_fully_connected,
    depthwise_to_grouped,
    transpose_conv_to_conv,
    move_reshapes,
    move_transposes,
    merge_around_reshape,
    fold_transpose_into_reduction,
    fold_transpose_into_weights,
    merge_transposes,
    transpose_to_reshape,
    merge_reshapes,
    drop_identity,
    merge_duplicates,
    # From here on only the arithmetic that differs from run to run is left.
    recognise_normalization,
    recognise_activation,
    recognise_softmax,
    multiply_from_left,
    dilate_conv,
    concat_to_pad,
    fold_pad_into_conv,
    fold_pad_into_pool,
    fold_pad_into_add,
    fold_scale_into_conv,
    fold_scale_before_conv,
    compose_pointwise,
    add_fully_connected,
    pool_to_mean,
    move_negation,
    # From here on each operator is a kernel.
    separate_outputs,
    fuse_elementwise,
    repeat_elementwise,
    fuse_second_output,
    fold_gate_into_conv,
    chain_dense,
    fuse_depthwise,
    divide_by_winograd,
)

REQUIRED = frozenset(
    [
        "inline_subgraphs",
        "resolve_variables",
        "propagate",
        "dequantize_constants",
        "split_activation",
        "expand_operators",
        "pack_to_concat",
        "reshape_fully_connected",
        "depthwise_to_grouped",
        "separate_outputs",
    ]
)
"""Rewrites that kernels rely on; the others can be left out."""

__all__ = ["PIPELINE", "REQUIRED", "Event", "Pass"]
