"""Tests of the hosts of stream apps."""
