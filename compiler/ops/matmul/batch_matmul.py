"""BATCH_MATMUL: products of matrices, either one transposed, with batches that broadcast."""

from collections.abc import Mapping
from math import prod

import numpy as np

from ...ir import Array, Op, Shape
from ...target import Target
from ..base.choose_tile import TileLimits, choose_tile
from ..base.cost import LANES
from ..base.definition import TiledImplementation, define, row_major
from ..base.images import rank_fits
from ..base.launch import Launch
from ..base.row_slices import no_row_slices
from ..base.shapes import broadcast
from ..base.storage import LINEAR, bhwc, slice_count
from ..base.tile import Area, Tile, TileShape, epilogue_operands

COLUMNS = 4  # Adjacent columns of the result that a work-item computes.

# Rows from which the second operand is read often enough to be worth converting to slices.
MIN_ROWS = 4

ROWS = 4  # Adjacent rows of the result of which a GPU's work-item computes a slice.

# Adjacent rows of the result of which a work-item computes columns, each in a slice of its own.
ROWS_OF_ROWS = 4


def matrices(op: Op) -> tuple[int, int, int]:
    """Rows, inner size and columns of the product (ModelError if the operands do not match)."""
    first, second = op.operand(0).shape, op.operand(1).shape
    if min(len(first), len(second)) < 2:
        raise op.invalid(f"{list(first)} and {list(second)} must have rank 2 or more")
    rows, inner = first[-2:] if not op.attrs.get("adj_x", False) else first[:-3:-1]
    height, columns = second[-2:] if not op.attrs.get("adj_y", False) else second[:-3:-1]
    if inner != height:
        raise op.invalid(
            f"cannot multiply {list(first)} by {list(second)}, as {inner} and {height} differ"
        )
    return rows, inner, columns


def infer(op: Op) -> list[Shape]:
    rows, _, columns = matrices(op)
    batches = broadcast(op, op.operand(0).shape[:-2], op.operand(1).shape[:-2])
    return [(*batches, rows, columns)]


def reference(op: Op, first: Array, second: Array) -> Array:
    if op.attrs.get("adj_x", False):
        first = first.swapaxes(-1, -2)
    if op.attrs.get("adj_y", False):
        second = second.swapaxes(-1, -2)
    return np.asarray(np.matmul(first, second))


def _tile(
    op: Op, target: Target, wanted: TileShape | None, rows: int = ROWS, whole_blocks: bool = False
) -> Tile:
    """Rows of the result times slices of its columns; on GPUs at most `rows` of one slice.

    A processor's tile of few rows is as wide as it has registers for, since rows of the second
    operand are read faster in long pieces.
    """
    *batches, height, columns = op.output.shape
    device = target.device
    widest = max(device.tile_slices, device.accumulators // max(height, 1))
    limits = TileLimits(device.accumulators, widest)
    limits = limits if target.on_processor else TileLimits(rows, 1)
    slices, operands = slice_count(columns, target), epilogue_operands(op)
    area = Area(height, prod(batches), slices=slices, operands=operands)
    return choose_tile(area, target, wanted, limits=limits, whole_blocks=whole_blocks, work=LANES)


def _launch(
    op: Op, target: Target, template: str, each: tuple[int, int], variables: Mapping[str, object]
) -> Launch:
    """A launch whose work-items compute so many columns of so many rows each, all row-major.

    On a processor those next to each other compute neighbouring rows, so that what they read of the
    second operand stays in its cache, and on GPUs columns.
    """
    rows, inner, columns = matrices(op)
    columns_each, rows_each = each
    batches, rows_first = op.output.shape[:-2], target.on_processor
    across, down = -(-columns // columns_each), -(-rows // rows_each)
    return Launch.of(
        op,
        template,
        (*((down, across) if rows_first else (across, down)), prod(batches)),
        reads={"a": op.operand(0), "b": op.operand(1)},
        variables={
            "rows": rows,
            "inner": inner,
            "columns": columns,
            "batches": batches,
            "a_transposed": bool(op.attrs.get("adj_x", False)),
            "rows_each": rows_each,
            "rows_first": rows_first,
            **variables,
        },
        heavy=True,
        flops=2 * op.output.elements * inner,
    )


def _build(op: Op, target: Target) -> Launch:
    transposed = bool(op.attrs.get("adj_y", False))
    variables = {"tile": COLUMNS, "b_transposed": transposed}
    return _launch(op, target, "matmul/batch_matmul.jinja", (COLUMNS, 1), variables)


def _slices_of_columns(op: Op, target: Target) -> str | None:
    """The second operand has whole slices of columns next to each other."""
    columns = op.output.shape[-1]
    if op.attrs.get("adj_y", False):
        return "the second operand is transposed"
    if columns < min(target.lanes, COLUMNS):
        return f"{columns} columns leave most of a slice empty"
    return None


def _build_columns(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    tile = _tile(op, target, wanted)
    each = (tile.slices * target.lanes, tile.pixels)
    in_slices = no_row_slices(op, target, op.epilogue_inputs) is None
    lanes = min(op.output.shape[-1], target.lanes)
    variables = {"tile": tile, "lanes": lanes, "in_slices": in_slices}
    return _launch(op, target, "matmul/batch_matmul_columns.jinja", each, variables)


def _slices_of_products(op: Op, target: Target) -> str | None:
    """What is multiplied lies next to each other in either operand."""
    _, inner, _ = matrices(op)
    if op.attrs.get("adj_x", False) or not op.attrs.get("adj_y", False):
        return "only products of rows with rows of a transposed operand add up in slices"
    return f"{inner} numbers do not fill a slice" if inner < target.lanes else None


def _build_products(op: Op, target: Target) -> Launch:
    rows, _, columns = matrices(op)
    rows_each, lanes = min(ROWS_OF_ROWS, rows), target.lanes
    # At least two columns share what is loaded of the rows. In OpenCL, a processor adds up the
    # lanes of as many sums at once as a slice has lanes.
    adds_up = target.on_processor and target.language.vector_stores
    most = max(target.device.accumulators // ROWS_OF_ROWS, 2)
    if adds_up and lanes % rows_each == 0 and lanes >= rows_each * COLUMNS:
        most = lanes // rows_each
    each = min(most, columns)
    at_once = adds_up and rows_each * each == lanes
    variables = {"columns_each": each, "at_once": at_once}
    return _launch(op, target, "matmul/batch_matmul_products.jinja", (each, rows_each), variables)


def _rows_of_slices(op: Op, target: Target) -> str | None:
    """The sliced kernel multiplies whole slices of the second operand, whose rows are pixels."""
    if op.attrs.get("adj_x", False) or op.attrs.get("adj_y", False):
        return "an operand is transposed"
    rows, columns = op.output.shape[-2:]
    if rows < MIN_ROWS:
        return f"{rows} rows are too few to convert the second operand to slices"
    if 2 * columns <= target.lanes:
        return f"{columns} columns leave most of a slice empty"
    return rank_fits(op, target)


def _single_elements(op: Op, target: Target) -> str | None:
    """Kernels that multiply slices are several times faster wherever they apply."""
    reasons = [each(op, target) for each in (_slices_of_columns, _slices_of_products)]
    return None if all(reasons) else "a kernel that multiplies slices is faster"


def _build_sliced(op: Op, target: Target, wanted: TileShape | None) -> Launch:
    rows, inner, columns = matrices(op)
    batch, height, _, _ = bhwc(op.output.shape)
    tile = _tile(op, target, wanted, rows=2 * ROWS, whole_blocks=True)
    blocks = slice_count(columns, target) // tile.slices
    return Launch.of(
        op,
        "matmul/batch_matmul_sliced.jinja",
        (-(-rows // tile.pixels), height, batch * blocks),
        reads={"a": op.operand(0), "b": op.operand(1)},
        variables={"tile": tile, "blocks": blocks},
        heavy=True,
        flops=2 * op.output.elements * inner,
    )


_KERNELS = (
    TiledImplementation("batch_matmul_sliced", _build_sliced, _rows_of_slices),
    TiledImplementation("batch_matmul_columns", _build_columns, _slices_of_columns, LINEAR, LINEAR),
    row_major("batch_matmul_products", _build_products, _slices_of_products),
    row_major("batch_matmul", _build, _single_elements),
)

define("BATCH_MATMUL a b -> y", infer, _KERNELS, reference, versions=4)
