"""The routes of stream apps."""
