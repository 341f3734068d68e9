"""How tensors are stored in device memory: element types, shapes and sizes."""

from math import prod

from .records import PlacedTensor, Plan, Region, TensorInfo

# Each dtype that a row-major tensor on the device may have, and the dtype of its stored elements.
# Integers of 8 bits stay as they are; in GLSL, whose buffers have no bytes, four share a word.
# Other integers have 32 bits because GLSL ES has none of 16 or 64 bits.
DEVICE_TYPES = {
    "float32": "float32",
    "float16": "float32",
    "bool": "int32",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int32",
    "uint16": "int32",
    "int32": "int32",
    "uint32": "int32",
    "int64": "int32",
}

# Bytes of a word. Tensors take whole words of device memory, and start at multiples of one.
WORD = 4

# Bytes of an element, or of a lane of a slice, that has fewer than 32 bits in memory.
NARROW_SIZES = {"float16": 2, "uint16": 2, "uint8": 1, "int8": 1}


def device_dtype(dtype: str) -> str:
    """The dtype of a row-major tensor's elements on the device (KeyError if it is never there)."""
    return DEVICE_TYPES[dtype]


def element_size(stored: str) -> int:
    """Bytes of an element that is stored as this dtype."""
    return NARROW_SIZES.get(stored, WORD)


def item_size(dtype: str) -> int:
    """Bytes of an element of a row-major tensor of this dtype, unless it is stored in fewer."""
    return element_size(device_dtype(dtype)) if dtype in DEVICE_TYPES else WORD


def whole_words(size: int) -> int:
    """So many bytes rounded up to whole words."""
    return -(-size // WORD) * WORD


def byte_size(info: TensorInfo) -> int:
    """Bytes of an input or output in its device buffer, row-major; 0 if it has none."""
    on_device = info.dtype in DEVICE_TYPES and not info.dynamic
    return prod(info.shape) * item_size(info.dtype) if on_device else 0


def sliced_shape(tensor: PlacedTensor) -> tuple[int, int, int, int, int]:
    """The shape in which a tensor is stored in slices: [batch, slice, height, width, lane].

    A tensor of lower rank counts as BHWC with leading dimensions of 1.
    """
    batch, height, width, channels = (1,) * (4 - len(tensor.shape)) + tensor.shape
    return (batch, -(-channels // tensor.lanes), height, width, tensor.lanes)


def storage_of(tensor: PlacedTensor) -> str:
    """How a tensor is stored, for display: "slices of 4, as uint8 from -128" or "row-major"."""
    order = f"slices of {tensor.lanes}" if tensor.lanes else "row-major"
    base = f" from {tensor.base}" if tensor.base else ""
    return order + (f", as {tensor.stored}{base}" if tensor.stored else "")


def region_size(plan: Plan, region: Region, index: int) -> int:
    """Bytes of the buffer of a region; IndexError if there is no such buffer."""
    if region is Region.ARENA or region is Region.WEIGHTS:
        if index:
            raise IndexError(index)
        return plan.arena_size if region is Region.ARENA else plan.weights_size
    if region is Region.STATE:
        return plan.variables[index].reach
    buffers = plan.input_buffers if region is Region.INPUT else plan.output_buffers
    return buffers[index].reach
