"""Where things of the repository lie that tests read."""

from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SAMPLES = ROOT / "samples"
DIGITS = SAMPLES / "digits"  # The sample network of digits, with pictures of each.
DIGITS_MODEL = DIGITS / "digits.tflite"
PROFILES = ROOT / "compiler" / "devices" / "profiles"
TEMPLATES = ROOT / "templates"
SEVEN = DIGITS / "images" / "7.png"
