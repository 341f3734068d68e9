"""The search for operators to keep in single precision, so that an f16 model is accurate enough."""

from .losses import relative_error
from .search import AUTO, TOLERANCE, settle
