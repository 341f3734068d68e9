"""Tiles and work-groups that were measured: the table of them, and the search that fills it."""
