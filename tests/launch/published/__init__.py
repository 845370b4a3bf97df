"""Tests of the part that runs published apps."""
