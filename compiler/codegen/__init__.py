"""From an operator's launch to the source of its kernel: views, groups, templates, words."""
