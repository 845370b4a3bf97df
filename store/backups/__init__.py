"""A database copied out at one moment, and put back byte by byte."""
