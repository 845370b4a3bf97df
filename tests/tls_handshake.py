"""A TLS handshake in memory: whether a client that trusts an authority accepts a server's certificate."""

import ssl
from pathlib import Path


def shake_hands(ca: Path, server_file: Path, host: str) -> None:
    """Raise ssl.SSLCertVerificationError as a client would."""
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(server_file)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context(cafile=str(ca)).wrap_bio(to_client, to_server, server_hostname=host)
    server = serving.wrap_bio(to_server, to_client, server_side=True)
    for side in (client, server, client, server):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    client.write(b"x")
    assert server.read(1) == b"x"
