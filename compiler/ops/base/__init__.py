"""The vocabulary of operator modules: definitions, launches, storages, tiles, views and windows."""
