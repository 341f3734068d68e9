"""Many models for many devices: what is to be compiled, where that runs, and a record of it.

Input are models and options; output are variants in a cache, and its rows. Data flows from
`models` (which files) and `tasks` (which compilations) through workers (`here`, or `cluster`) to
`compile_many`, which writes their results into a `place` and records them in its `rows`.
"""
