"""Transports of stream apps: receivers bring messages of others in, senders take an app's rows out."""
