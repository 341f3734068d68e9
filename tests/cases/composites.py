"""Operators that stand for many: detection, transforms, sound, experts."""

from collections.abc import Iterator, Sequence

import numpy as np
from flatbuffers import flexbuffers
from graphs import Call, Part, Value, call, detected, ints, known, reshape, typed, w, x, xi

from tflgpu.compiler.ir import Shape

from .case import Case


def suppressions() -> Iterator[Case]:
    corners = np.random.default_rng(3).uniform(0, 1, (41, 2, 2)).astype(np.float32)
    boxes = known(np.concatenate([corners[:, 0], corners[:, 0] + corners[:, 1]], 1))
    limits = known(np.array(0.3, np.float32)), known(np.array(0.2, np.float32))
    for most in (7, 41):
        operands = boxes, x(41, draw="positive"), known(np.array(most, np.int32)), *limits
        value = Call("NON_MAX_SUPPRESSION_V4", operands, outputs=2, dtype="int32")
        yield Case("NON_MAX_SUPPRESSION_V4", f"{most}", [Part(value, 0), Part(value, 1)])
        for sigma in (0.0, 0.5):
            softly = (*operands, known(np.array(sigma, np.float32)))
            types = ("int32", "float32", "int32")
            value = Call("NON_MAX_SUPPRESSION_V5", softly, outputs=3, dtypes=types)
            results = [Part(value, position) for position in range(3)]
            yield Case("NON_MAX_SUPPRESSION_V5", f"{most} sigma {sigma}", results)
    numbers = (reshape(x(1, draw="positive")) for _ in range(3))
    small = [call("MUL", number, known(np.float32(0.2))) for number in numbers]
    scaled = call("MUL", boxes, x(1, draw="positive"))
    chosen: tuple[Value, ...] = scaled, x(41, draw="positive"), known(np.array(7, np.int32)), *small
    value = Call("NON_MAX_SUPPRESSION_V5", chosen, outputs=3, dtypes=types)
    results = [Part(value, position) for position in range(3)]
    yield Case("NON_MAX_SUPPRESSION_V5", "by computed limits", results)


def detections() -> Iterator[Case]:
    random = np.random.default_rng(23)
    centres = random.uniform(0.2, 0.8, (37, 2))
    anchors = known(np.concatenate([centres, np.full((37, 2), 0.2)], 1).astype(np.float32))
    ways = (
        ("5 of 37", 0, 5, 1, None),
        ("19 of 37, with background", 1, 19, 1, None),
        ("three classes for a box", 1, 5, 3, None),
        ("class by class", 1, 19, 1, 100),
        ("class by class, two of each", 0, 19, 1, 2),
    )
    for situation, background, most, for_a_box, of_a_class in ways:
        scores = x(1, 37, 7 + background, draw="positive")
        options = {"max_classes_per_detection": for_a_box, "num_classes": 7}
        options |= {"max_detections": most, "detections_per_class": of_a_class or 100}
        regular = of_a_class is not None
        results = detected(x(1, 37, 4), scores, anchors, use_regular_nms=regular, **options)
        yield Case("TFLite_Detection_PostProcess", situation, results)


def transforms() -> Iterator[Case]:
    parts = ("COMPLEX_ABS", "IMAG", "REAL")
    spectrum = typed("complex64", "RFFT2D", x(3, 1, 32), ints(1, 32))
    yield Case("RFFT2D", "all parts of rows", [call(part, spectrum) for part in parts])
    reshaped = typed("complex64", "RESHAPE", spectrum, ints(3, 17), new_shape=(3, 17))
    yield Case("COMPLEX_ABS", "of reshaped rows", call("COMPLEX_ABS", reshaped))
    for shape, size in (((2, 5, 21), (8, 16)), ((4, 13), (4, 32))):
        for part in parts:
            spectrum = typed("complex64", "RFFT2D", x(*shape), ints(*size))
            yield Case(part, f"of {shape} over {size}", call(part, spectrum))


def rotations() -> Iterator[Case]:
    """Also by matrices that are products of two."""
    for shape, size in (((3, 8), 4), ((2, 3, 64), 64), ((1, 5, 768), 256), ((7, 1), 1)):
        options = bytes(flexbuffers.Dumps({"hadamard_size": size, "random_binary_vector": [1] * 4}))
        value = Call("aeq.hadamard_rotation", (x(*shape),), {"custom_options": options})
        yield Case("aeq.hadamard_rotation", f"{size} of {shape}", value)


def sounds() -> Iterator[Case]:
    for samples, window, stride, squared in ((400, 64, 32, True), (250, 50, 75, False)):
        sizes = {"window_size": window, "stride": stride, "magnitude_squared": squared}
        raw = {"custom_options": bytes(flexbuffers.Dumps(sizes))}
        for channels in (1, 3):
            value = Call("AudioSpectrogram", (x(samples, channels),), raw)
            yield Case("AudioSpectrogram", f"{window} of {samples}, {channels} channels", value)
    for lowest, highest, bands in ((20, 4000, 40), (300, 7999, 11)):
        limits = {"lower_frequency_limit": lowest, "upper_frequency_limit": highest}
        sizes = {"filterbank_channel_count": bands, "dct_coefficient_count": 10}
        raw = {"custom_options": bytes(flexbuffers.Dumps({**limits, **sizes}))}
        value = Call("Mfcc", (x(2, 5, 129, draw="positive"), ints(16000)), raw)
        yield Case("Mfcc", f"{bands} bands from {lowest} to {highest} Hz", value)
        value = Call("Mfcc", (x(2, 5, 129, draw="special"), ints(16000)), raw)
        yield Case("Mfcc", f"{bands} bands of special values", value)


def experts() -> Iterator[Case]:
    """Two of three experts for each of seven tokens."""
    for activation in ("gelu", "gelu_tanh"):
        sizes = {"num_experts": 3, "model_dim": 5, "hidden_dim": 11, "num_active_experts": 2}
        options = {**sizes, "activation": activation, "weight_type": "fp32"}
        routing = x(1, 7, 5), x(1, 7, 2, draw="positive"), xi(1, 7, 2, draw="places")
        matrices = w(11, 3, 1, 5), w(11, 3, 1, 5), w(5, 3, 1, 11), w(1, 1, 1, 3)
        raw = {"custom_options": bytes(flexbuffers.Dumps(options))}
        yield Case("moe", activation, Call("moe", (*routing, *matrices), raw))


def gated_deltas() -> Iterator[Case]:
    """Beside the rule spelled out: LiteRT has no kernel for processors."""
    for batch, sharers, heads, steps in ((1, 2, 4, 1), (2, 3, 3, 5)):
        depth, width = 16, 19
        queries, keys = (x(batch, sharers, steps, depth, draw="weights") for _ in range(2))
        values, state = x(batch, heads, steps, width), x(batch, heads, depth, width)
        strength, gate = (x(batch, heads, steps, draw="weights") for _ in range(2))
        operands = queries, keys, values, strength, gate, state
        whole = Call("gated_delta_update", operands, outputs=2)
        oracle = _spelled_out(operands, (batch, sharers, heads // sharers), steps, (depth, width))
        name = f"{steps} steps of {heads} heads that share {sharers} keys"
        yield Case("gated_delta_update", name, [Part(whole, 0), Part(whole, 1)], oracle=oracle)


def _spelled_out(
    operands: Sequence[Value], groups: Shape, steps: int, sizes: tuple[int, int]
) -> list[Value]:
    """The values and the state of the gated delta rule, head by head of each group that shares."""
    (batch, sharers, heads), (depth, width) = groups, sizes
    ends = (depth, 1), (depth, 1), (1, width), (1, 1), (1, 1)
    state = reshape(operands[5], *groups, depth, width)
    found = []
    for step in range(steps):
        now = []
        for operand, end, shared in zip(operands, ends, (1, 1, 0, 0, 0), strict=False):
            count, tail = sharers if shared else sharers * heads, max(end)
            begin, size = (0, 0, step, 0), (batch, count, 1, tail)
            rank = 3 if end == (1, 1) else 4
            taken = call("SLICE", operand, ints(*begin[:rank]), ints(*size[:rank]))
            now.append(reshape(taken, batch, sharers, 1 if shared else heads, *end))
        query, key, value, strength, gate = now
        # Inputs are drawn in the order in which they are first read.
        kept = call("MUL", call("EXP", gate), state)
        there = call("SUM", call("MUL", key, kept), ints(3), keep_dims=True)
        change = call("SUB", call("MUL", value, strength), call("MUL", there, strength))
        state = call("ADD", call("MUL", key, change), kept)
        found.append(call("SUM", call("MUL", query, state), ints(3), keep_dims=True))
    together = call("CONCATENATION", *found, axis=3) if steps > 1 else found[0]
    whole = batch, sharers * heads
    return [reshape(together, *whole, steps, width), reshape(state, *whole, depth, width)]


TABLES = (suppressions, detections, transforms, rotations, sounds, experts, gated_deltas)
