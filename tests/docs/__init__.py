"""Tests of the documentation: its commands, examples, links and generated parts."""
