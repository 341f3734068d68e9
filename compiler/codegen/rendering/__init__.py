"""Rendering: from the template of a launch to the statements of its kernel."""
