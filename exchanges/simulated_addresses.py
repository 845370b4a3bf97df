"""Addresses of accounts on the simulated exchanges, to which others there withdraw; they name no place elsewhere."""

_PREFIX = "simulated."


def simulated_address(account: str) -> str:
    """Return the address of an account by the name that sessions have for it; one for all currencies."""
    return f"{_PREFIX}{account}"


def account_at(address: str) -> str:
    """Return whose address it is; no account's name if it is none of ours."""
    return address.removeprefix(_PREFIX) if address.startswith(_PREFIX) else ""
