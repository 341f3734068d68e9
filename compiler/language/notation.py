"""How expressions are written in all kernel languages: how tightly operators bind, and floats."""

import numpy as np

# How tightly the parts of an expression are bound, from loose to tight.
CHOICE, OR, AND, BITS, EQUALITY, COMPARISON, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(11)

# The level of each operator between two operands.
INFIX = {
    "||": OR,
    "&&": AND,
    **dict.fromkeys(("|", "^", "&"), BITS),
    **dict.fromkeys(("==", "!="), EQUALITY),
    **dict.fromkeys(("<", "<=", ">", ">="), COMPARISON),
    **dict.fromkeys(("<<", ">>"), SHIFT),
    **dict.fromkeys(("+", "-"), SUM),
    **dict.fromkeys(("*", "/", "%"), PRODUCT),
}


def float_text(value: float) -> str:
    """A finite float in a kernel language: as it was written, or the shortest text of a float32.

    >>> float_text(0.1), float_text(-6)
    ('0.1f', '-6.0f')
    """
    number = np.float32(value)
    if abs(number) < np.finfo(np.float32).tiny:
        number = np.float32(0)  # denormal numbers are slow, and GPUs take them for zeros
    text = np.format_float_scientific(number, trim="0", exp_digits=1)
    whole = 0 < abs(number) < 2**32 and number == np.trunc(number)
    plain = f"{int(number)}.0" if whole else np.format_float_positional(number, trim="0")
    written = repr(float(value))
    if "e" not in written and len(written) <= len(plain) and np.float32(written) == number:
        plain = written
    return f"{plain if len(plain) <= len(text) else text}f"
