"""Mutations of models and plans."""
