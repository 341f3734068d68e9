"""Many models for many devices: what is to be compiled, where that runs, and a record of it.

Input are models and options; output are variants in a cache, and its rows. Data flows from
`models` (which files) and `tasks` (which compilations) through `run`, which asks the `rows` of
earlier runs what is missing, and `workers`, which write what they compile into a `place`.
"""
