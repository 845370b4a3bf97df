"""What an assistant may do with a running session: tools that read, tools that change, pages and settings to read."""
