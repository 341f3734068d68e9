"""How fast a plan is: beside LiteRT, kernel by kernel, and against what the device can do."""
