"""Fixtures of the served session."""

from tests.remote import conftest as remote

session = remote.session
store = remote.store
application = remote.application
key = remote.key
address = remote.address
reader = remote.reader
operator = remote.operator
