"""Credentials of a service, held beside its address and never inside it."""

from dataclasses import dataclass, field
from typing import Literal, Self

Mechanism = Literal["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"]
Protocol = Literal["SASL_PLAINTEXT", "SASL_SSL"]


@dataclass(frozen=True, slots=True)
class Login:
    """`mechanism` and `protocol` are for Kafka; MongoDB and its address settle both between themselves."""

    user: str
    password: str = field(repr=False)
    mechanism: Mechanism = "SCRAM-SHA-256"
    """SCRAM shows no password to whoever listens on a port in place of a service that is down."""
    protocol: Protocol = "SASL_PLAINTEXT"
    ca: str = ""
    """File of the certificates that a Kafka over TLS is known by; empty: those of the system."""


class Address(str):
    """The address of Kafka or MongoDB as text, which may be printed, logged and written to files; `login` goes into
    none of them, nor into what is made of the text."""

    login: Login | None

    def __new__(cls, text: str, login: Login | None = None) -> Self:
        made = super().__new__(cls, text)
        made.login = login
        return made


def login_of(address: str) -> Login | None:
    """None: the service needs no login, or its address contains it."""
    return address.login if isinstance(address, Address) else None
