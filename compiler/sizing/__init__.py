"""Sizing: the tile and work-groups of every kernel, by the device profile or a tuning table.

Input is a graph with implementations; output is its operators, in order, with their launches.
"""
