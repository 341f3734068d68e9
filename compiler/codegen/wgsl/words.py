"""The keywords and reserved words of WGSL (sections 16.1 and 16.2), which no variable may be."""

_WORDS = """
NULL Self abstract active alias alignas alignof as asm asm_fragment async attribute auto await
become break case cast catch class co_await co_return co_yield coherent column_major common
compile compile_fragment concept const const_assert const_cast consteval constexpr constinit
continue continuing crate debugger decltype default delete demote demote_to_helper diagnostic
discard do dynamic_cast else enable enum explicit export extends extern external fallthrough
false filter final finally fn for friend from fxgroup get goto groupshared highp if impl
implements import inline instanceof interface layout let loop lowp macro macro_rules match
mediump meta mod module move mut mutable namespace new nil noexcept noinline nointerpolation
noncoherent noperspective null nullptr of operator override package packoffset partition pass
patch pixelfragment precise precision premerge priv protected pub public readonly ref regardless
register reinterpret_cast require requires resource restrict return self set shared sizeof
smooth snorm static static_assert static_cast std struct subroutine super switch target template
this thread_local throw trait true try type typedef typeid typename typeof union unless unorm
unsafe unsized use using var varying virtual volatile wgsl where while with writeonly yield
"""
RESERVED = frozenset(_WORDS.split())


def named(name: str) -> str:
    """A name of a kernel's variable as one in WGSL."""
    return f"{name}_" if name in RESERVED else name
