"""The cache folder: finding, reading, checking and removing compiled models."""
