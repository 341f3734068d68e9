"""What layers share: packed weights, products of bytes, and sums that work-items divide."""
