"""Formats of messages: bytes of the outside as rows of a stream, and rows as bytes. Pure: a text's `@map` chooses."""
