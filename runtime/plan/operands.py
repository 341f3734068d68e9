"""What a part's file says of the operands of an operator that a function computes.

The file is an archive of numpy arrays (.npz): OPERANDS, OPTIONS, and the constants.
"""

# The array with the number of the part's input for each operand; -1 for a constant or none.
OPERANDS = "operands"

OPTIONS = "options"  # The array with the bytes of the operator's options.


def constant_name(position: int) -> str:
    """The name of the array with the constant at a position among the operands."""
    return f"constant_{position}"
