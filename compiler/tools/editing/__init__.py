"""Trying a kernel that was changed by hand: built, compared, timed, and kept on request."""
