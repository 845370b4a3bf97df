"""Tests of the structured host."""
