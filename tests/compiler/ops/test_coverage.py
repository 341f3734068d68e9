"""Nothing without a test."""

from cases import CASES
from graphs import model
from paths import TESTS

from tflgpu.compiler.ops import OPS
from tflgpu.compiler.tflite_schema import OPERATORS

OWN = "tflgpu."
# Custom operators of LiteRT, MediaPipe, TensorFlow, object detection and language models.
CUSTOM = {
    "AudioSpectrogram",
    "Convolution2DTransposeBias",
    "FlexErf",
    "FlexTensorListReserve",
    "FlexTensorListSetItem",
    "FlexTensorListStack",
    "LiteRtMaxUnpooling2D",
    "MaxPoolingWithArgmax2D",
    "MaxUnpooling2D",
    "Mfcc",
    "Resampler",
    "TFLite_Detection_PostProcess",
    "aeq.hadamard_rotation",
    "gated_delta_update",
    "moe",
}

# By test file below tests/compiler, the operators whose graphs a case cannot hold.
ELSEWHERE = {
    "frontend/test_sparsity.py": ["DENSIFY"],
    "ops/test_resampler.py": ["Resampler"],
    "ops/test_unpool.py": ["LiteRtMaxUnpooling2D", "MaxPoolingWithArgmax2D", "MaxUnpooling2D"],
    "rewrites/canonicalize/test_resolve_control_flow.py": ["IF", "WHILE"],
    "rewrites/canonicalize/test_select_branch.py": ["STABLEHLO_CASE"],
    "rewrites/decompose/test_recurrent.py": [
        *("LSTM", "RNN", "SVDF"),
        *("BIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_RNN"),
        *("UNIDIRECTIONAL_SEQUENCE_LSTM", "UNIDIRECTIONAL_SEQUENCE_RNN"),
    ],
    "rewrites/decompose/test_resolve_variables.py": [
        *("ASSIGN_VARIABLE", "CALL_ONCE", "READ_VARIABLE", "VAR_HANDLE")
    ],
    "rewrites/decompose/test_tensor_list.py": [
        *("FlexTensorListReserve", "FlexTensorListSetItem", "FlexTensorListStack")
    ],
}


def test_every_operator_has_a_case() -> None:
    """In the table, or in a test file of its own."""
    cases = {op.name for case in CASES for op in model({case.name: case.value}).graph.ops}
    own = {name for names in ELSEWHERE.values() for name in names}
    assert {name for name in OPS if not name.startswith(OWN)} - cases == own


def test_files_elsewhere_name_their_operators() -> None:
    for file, names in ELSEWHERE.items():
        text = (TESTS / "compiler" / file).read_text(encoding="utf-8")
        assert [name for name in names if f'"{name}"' not in text] == [], file


def test_every_operator_is_one_of_tflite_s() -> None:
    unknown = {name for name in OPS if not name.startswith(OWN)} - set(OPERATORS.values())
    assert unknown - CUSTOM == set()


def test_operators_without_kernels_say_why() -> None:
    assert [n for n, row in OPS.items() if not row.implementations and not row.note] == []


def test_cases_cover_ranks_and_batches() -> None:
    shapes = [
        array.shape for case in CASES for array in model({case.name: case.value}).inputs.values()
    ]
    assert {len(shape) for shape in shapes} >= {0, 1, 2, 3, 4, 5, 6}
    assert sum(len(shape) == 4 and shape[0] > 1 for shape in shapes) > 100
