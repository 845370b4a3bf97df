"""What ccxt's clients have in common."""

from exchanges.ccxt.client import ExchangeConfig, make_exchange


async def test_certificates_are_read_once_for_all_clients() -> None:
    """A feed through ccxt makes a client for each of its connections."""
    clients = [make_exchange(ExchangeConfig("kraken", "public", None, None)) for _ in range(2)]
    try:
        for client in clients:
            client.open()
        assert clients[0].ssl_context is clients[1].ssl_context
        assert all(client.ssl_context.check_hostname and client.ssl_context.get_ca_certs() for client in clients)
    finally:
        for client in clients:
            await client.close()
