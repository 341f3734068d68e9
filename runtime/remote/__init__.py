"""Stores: caches at a URL. Publishing compiled models there, fetching them, and checking both."""
