"""The types of what kernels compute with, as expressions have them."""

INT, UINT, FLOAT, HALF, BOOL = "int", "uint", "float", "half", "bool"
# Slices: as many integers, floats or halves as the target has lanes.
INTS, FLOATS, HALVES = "ints", "floats", "halves"
UINTS, BOOLS = "uints", "bools"  # Four words, and whether something holds in each lane.
RGB, RGBA = "rgb", "rgba"  # Pixels of three and of four floats.
PAIR = "pairs"  # Two slices of halves, packed into words.
WHOLE = frozenset({INT, BOOL})  # The types of values that arithmetic may reorder.
EXACT = WHOLE | {INTS}  # The types in which numbers are integers.

# The type of one lane, by that of the vector.
LANE = {INTS: INT, UINTS: UINT, FLOATS: FLOAT, HALVES: HALF, RGB: FLOAT, RGBA: FLOAT}
