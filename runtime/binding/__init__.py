"""Running a model on memory of the caller, and several runs at a time."""
