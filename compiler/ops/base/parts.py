"""How many parts work is cut into: powers of two, and divisors of what there is."""


def power_of_two(most: int) -> int:
    """The largest power of two that is at most so large, at least 1."""
    return 1 << (max(most, 1).bit_length() - 1)


def power_of_two_from(least: int) -> int:
    """The smallest power of two that is no less than a number, which is positive."""
    return power_of_two(2 * least - 1)


def largest_divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is at most so large."""
    return max(each for each in range(1, most + 1) if number % each == 0)
