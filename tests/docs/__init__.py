"""The pages of the documentation are run: their commands, their examples, their links."""
