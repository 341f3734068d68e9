"""Which names an exported model may have: those of a variable of C, and of files."""

import os
import re
from ctypes import CDLL

_IDENTIFIER = re.compile(r"(?!tflgpu)[a-z][a-z0-9_]{0,62}\Z")
# Names that C or C++ keeps for itself.
_KEYWORDS = frozenset(
    [
        *("alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool"),
        *("break", "case", "catch", "char", "class", "compl", "concept", "const"),
        *("const_cast", "constexpr", "continue", "decltype", "default", "delete", "do"),
        *("double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false"),
        *("float", "for", "friend", "goto", "if", "inline", "int", "long", "main", "mutable"),
        *("namespace", "new", "noexcept", "not", "not_eq", "nullptr", "operator", "or"),
        *("or_eq", "private", "protected", "public", "register", "reinterpret_cast"),
        *("requires", "restrict", "return", "short", "signed", "sizeof", "static"),
        *("static_assert", "static_cast", "struct", "switch", "template", "this"),
        *("thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "union"),
        *("unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor"),
        "xor_eq",
    ]
)
_TABLES = re.compile(
    r"(s\d+_.*|"
    r"(inputs|outputs|variables|variants|rules|spans|dispatches|persistent|embedded_weights)(_.*)?)\Z"
)

# Headers, macros and types of C and POSIX; functions and variables are looked up.
_HEADERS = frozenset(
    [
        *("assert", "complex", "ctype", "dirent", "dlfcn", "errno", "fcntl", "fenv", "inttypes"),
        *("iso646", "limits", "locale", "math", "pthread", "sched", "setjmp", "signal"),
        *("stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib"),
        *("stdnoreturn", "string", "strings", "tgmath", "threads", "time", "uchar", "unistd"),
        *("wchar", "wctype", "windows"),
    ]
)
_MACROS = frozenset(["fpclassify", "isfinite", "isnormal", "linux", "offsetof", "signbit", "unix"])
_RESERVED = re.compile(r"(va_.*|.*_t)\Z")


def is_identifier(name: str) -> bool:
    """Whether it is a name in C and C++ that no generated one equals."""
    return bool(_IDENTIFIER.match(name)) and name not in _KEYWORDS and not _TABLES.match(name)


def in_c_library(name: str) -> bool:
    """Whether C or POSIX has such a header, macro or type, or this system's library such a symbol.

    A variable in a program takes a symbol's place even in drivers, which would call it.
    """
    if name in _HEADERS or name in _MACROS or _RESERVED.match(name):
        return True
    return hasattr(CDLL("msvcrt" if os.name == "nt" else None), name)
