"""Operators that put elements in order, or select them by comparison."""
