"""Tools around the compiler: verifying against LiteRT, bisecting, explaining, tuning, benchmarking.

Input is a model and compile options; output are the records that the command line prints.
"""
