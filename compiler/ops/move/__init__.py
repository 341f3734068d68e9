"""Operators that move elements to places known at compile time."""
