"""Selection: which operators the device can run, and each one's implementation and storage.

Input is the graph; output is an implementation per operator and a storage per tensor, with
conversions between storages added to the graph.
"""
