"""Where intermediate tensors lie: the order of execution, what is shared, and the offsets."""
