"""Marks of tests that run on some operating systems only."""

import os
import sys

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
linux = pytest.mark.skipif(sys.platform != "linux", reason="processes and mounts of Linux")
