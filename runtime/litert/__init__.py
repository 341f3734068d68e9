"""Parts of a model that run on LiteRT instead of the device."""
