"""Networks of channels-first frameworks: transposes around what needs channels last."""

from .values import Value, call, transpose, w

# Permutations from channels last to channels first, and back.
FIRST, LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def conv_channels_first(image: Value, outputs: int, inputs: int) -> Value:
    """A 3x3 convolution of a feature map with channels first."""
    window = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
    weights = w(outputs, 3, 3, inputs), w(outputs)
    return transpose(call("CONV_2D", transpose(image, *LAST), *weights, **window), *FIRST)
