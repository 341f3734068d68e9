"""Names of what a writer has not finished yet. They tell its age, so that it can be removed."""

import calendar
import re
import time
from secrets import token_hex

STAMP = r"\d{8}T\d{6}Z-[0-9a-f]{16}"  # A pattern for stamps.
# Seconds after which what no manifest refers to is taken for the work of a killed process.
UNFINISHED = 24 * 3600

_TIME = "%Y%m%dT%H%M%SZ"
_FOLDER = re.compile(rf"files-({STAMP})\Z")
_TEMPORARY = re.compile(rf"\..*\.({STAMP})\.tmp\Z")


def new_folder() -> str:
    """The name of a folder for the files of one more manifest."""
    return f"files-{_new_stamp()}"


def is_folder(name: str) -> bool:
    """Whether a name is one of `new_folder`."""
    return _FOLDER.match(name) is not None


def new_temporary(name: str) -> str:
    """The name of a file whose content is to replace that of another one."""
    return f".{name}.{_new_stamp()}.tmp"


def is_old(name: str) -> bool:
    """Whether a name was made by `new_folder` or `new_temporary` more than a day ago."""
    match = _FOLDER.match(name) or _TEMPORARY.match(name)
    return match is not None and time.time() - _seconds(match[1]) > UNFINISHED


def _new_stamp() -> str:
    return f"{time.strftime(_TIME, time.gmtime())}-{token_hex(8)}"


def _seconds(stamp: str) -> float:
    try:
        return calendar.timegm(time.strptime(stamp.partition("-")[0], _TIME))
    except ValueError:
        return time.time()  # no date, so it was not made here
