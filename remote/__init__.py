"""A running session from outside: a typed client of its REST service, and the server of tools that assistants use."""
