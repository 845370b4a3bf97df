"""Where the apps of a process take rows by HTTP: one listener for each address, which they share."""

from dataclasses import dataclass, field
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext, SSLError
from typing import TYPE_CHECKING

from cep.apps.functions.operator_terms import ReceivingTerms
from launch.apps.server_logins import path_keys
from launch.errors import CannotStartError

if TYPE_CHECKING:
    from cep.apps.transports.http_listener import HttpListener


@dataclass(slots=True)
class HttpListeners:
    """By address."""

    _found: dict[str, "HttpListener"] = field(default_factory=dict)

    def listener(self, terms: ReceivingTerms) -> "HttpListener":
        """Raise CannotStartError if keys or certificate cannot be read."""
        # few apps take rows by HTTP
        from cep.apps.transports.http_listener import HttpListener

        keys = path_keys(terms.keys_file)
        found = self._found.get(terms.listen)
        if found is None:
            host, _, port = terms.listen.rpartition(":")
            found = HttpListener(host, int(port), keys, _certificate(terms.certificate))
            self._found[terms.listen] = found
        # whoever publishes an app with a new path adds its key before
        found.keys = keys
        return found


def _certificate(path: Path | None) -> SSLContext | None:
    if path is None:
        return None
    context = SSLContext(PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(path)
    except (OSError, SSLError):
        raise CannotStartError(f"[apps.receive] certificate: {path} has no certificate with its key.") from None
    return context
