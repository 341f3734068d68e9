"""From a plan to the commands of one device, whichever driver runs it."""
