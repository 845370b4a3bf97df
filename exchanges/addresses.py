"""Where a simulated exchange answers, in the shape of the `urls` that ccxt's constructor takes."""

from exchanges.errors import AccountRefusedError

# ccxt reaches Binance by many names; those beyond spot answer that they have no markets, or nothing at all.
_BINANCE_REST = {
    "public": "/api/v3",
    "private": "/api/v3",
    "v1": "/api/v1",
    "sapi": "/sapi/v1",
    "sapiV2": "/sapi/v2",
    "sapiV3": "/sapi/v3",
    "sapiV4": "/sapi/v4",
    "fapiPublic": "/fapi/v1",
    "fapiPublicV2": "/fapi/v2",
    "fapiPublicV3": "/fapi/v3",
    "fapiPrivate": "/fapi/v1",
    "fapiPrivateV2": "/fapi/v2",
    "fapiPrivateV3": "/fapi/v3",
    "fapiData": "/futures/data",
    "dapiPublic": "/dapi/v1",
    "dapiPrivate": "/dapi/v1",
    "dapiPrivateV2": "/dapi/v2",
    "dapiData": "/futures/data",
    "eapiPublic": "/eapi/v1",
    "eapiPrivate": "/eapi/v1",
    "papi": "/papi/v1",
    "papiV2": "/papi/v2",
}
_BINANCE_STREAMS = ("spot", "margin", "linear", "inverse", "stock", "option", "optionMarket", "optionPrivate", "papi")


def simulated_addresses(exchange: str, base_url: str) -> dict[str, object]:
    """All addresses that ccxt has for `exchange`, each below `base_url`: none is left that leads to the real one.

    As `urls["api"]`, either put in place or given to ccxt's constructor. Raises AccountRefusedError where no such
    exchange is simulated.
    """
    base = base_url.rstrip("/")
    socket = "ws" + base.removeprefix("http") + "/ws"
    if exchange == "coinbaseexchange":
        return {"public": base, "private": base, "ws": socket}
    if exchange == "bitstamp":
        return {"public": f"{base}/api", "private": f"{base}/api", "ws": socket}
    if exchange == "bitflyer":
        return {"rest": base}
    if exchange == "kraken":
        # ccxt tells the protocol's version by the address.
        sockets = dict.fromkeys(("public", "private", "beta", "beta-private"), socket)
        sockets |= dict.fromkeys(("publicV2", "privateV2"), f"{socket}/v2")
        return {"public": base, "private": base, "zendesk": base, "ws": sockets}
    if exchange == "binance":
        calls = dict.fromkeys(("spot", "linear", "inverse"), socket.removesuffix("/ws") + "/ws-api/v3")
        streams = {**dict.fromkeys(_BINANCE_STREAMS, socket), "ws-api": calls}
        return {**{name: base + path for name, path in _BINANCE_REST.items()}, "ws": streams}
    raise AccountRefusedError(f"there is no simulated {exchange}")
