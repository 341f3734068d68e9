"""The types of what kernels compute with, as expressions have them."""

INT, FLOAT, HALF, BOOL = "int", "float", "half", "bool"
# Slices: as many integers, floats or halves as the target has lanes.
INTS, FLOATS, HALVES = "ints", "floats", "halves"
RGB, RGBA = "rgb", "rgba"  # Pixels of three and of four floats.
PAIR = "pairs"  # Two slices of halves, packed into words.
WHOLE = frozenset({INT, BOOL})  # The types of values that arithmetic may reorder.
EXACT = WHOLE | {INTS}  # The types in which numbers are integers.

# The type of one lane, by that of the vector.
LANE = {INTS: INT, FLOATS: FLOAT, HALVES: HALF, RGB: FLOAT, RGBA: FLOAT}
