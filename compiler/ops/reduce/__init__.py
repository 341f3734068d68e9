"""Many elements to one or along a line: reductions, softmaxes, normalizations, pools."""
