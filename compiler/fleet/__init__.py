"""Many models for many devices: what is to be compiled, where that runs, and a record of it.

Input are models and options; output are variants in a store, and its manifest. Data flows from
`models` (which files) and `tasks` (which compilations) through workers (`here`, or `cluster`) to
`compile_many`, which publishes their results and records them in the `manifest`.
"""
