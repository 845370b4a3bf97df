"""Tests of the functions of stream apps."""
