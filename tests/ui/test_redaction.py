"""No secret is shown, whatever part wrote it and however."""

from base64 import b64encode

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from runtime.clock import steady_now
from ui.services.redaction import HIDDEN, is_secret_name, may_hold_secret, without_secrets

SECRET = "s3cr3t-Value/of+mine=="


@pytest.mark.parametrize(
    "text",
    [
        f"apiKey={SECRET}",
        f"X-API-Key: {SECRET}",
        f"{{'apiKey': '{SECRET}', 'symbol': 'BTC/USD'}}",
        f'{{"secret": "{SECRET}"}}',
        f'{{\\"password\\": \\"{SECRET}\\"}}',
        f"[('Authorization', 'Bearer {SECRET}')]",
        f"Authorization: Bearer {SECRET}",
        f"authorization=Basic {SECRET}",
        f"GET /order?symbol=BTC&signature={SECRET}&timestamp=1",
        f"mongodb://owner:{SECRET.replace('/', '')}@10.0.0.1:27017/?replicaSet=rs0",
        f"https://{SECRET.replace('/', '')}@hooks.example/x",
        f"CB-ACCESS-SIGN: {SECRET}",
        f"API-Sign={SECRET}",
        f"passphrase : '{SECRET}'",
        f"private_key = {SECRET}",
        f"Cookie: sign_in={SECRET}",
        f"ticket={SECRET}",
        f"webhook_url={SECRET}",
        f"kafka.sasl.password={SECRET}",
        f'secret="{SECRET}',
    ],
)
def test_a_value_that_is_named_like_a_secret_is_hidden(text: str) -> None:
    assert may_hold_secret(text)
    shown = without_secrets(text)
    for piece in ("s3cr3t", "Value", "of+mine"):
        assert piece not in shown
    assert HIDDEN in shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "order filled",
        "fencing token=17 of kraken",
        '{"token": 3, "holder": "kraken@host:12"}',
        "mongodb://127.0.0.1:27017/?replicaSet=rs0",
        "bid=100.5 ask=101.25 sequence=1700000000000000",
        "opportunity 5f2c8a is expired",
        "/home/erika/arbitrage/data/checkpoints/paper-1763826120-4711/0f3b5c7d9e1a2b4c",
        "/Users/Erika/Documents/arbitrage/data/recordings/paper-1",
        "file:///srv/arbitrage/checkpoints/paper-1/0f3b5c7d9e1a2b4c/spark",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_keys_over_several_lines_and_a_bots_address_are_hidden() -> None:
    key = "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----"
    assert without_secrets(f"read {key} from file") == f"read {HIDDEN} from file"
    assert without_secrets("A" * 64) == HIDDEN
    # a line of a key may begin with the sign that paths begin with, and have more of them
    assert without_secrets("/q8Zt3/kPw/x0VbJm4LrYc/2HdNf7GsAe/uTzR1iQoXl/5WvBnKyMj/9EaC") == HIDDEN
    assert without_secrets("/hooks/services/0123456789abcdef0123456789abcdef") == HIDDEN
    assert without_secrets("/services/T00AbCdEf/B00GhIjKl/QrStUvWxYz0123456789AbCd") == HIDDEN
    assert "AAE" not in without_secrets("POST https://chat.example/bot123456:AAEabc_def/sendMessage")


@pytest.mark.parametrize(("name", "is_secret"), [("apiKey", True), ("api_secret", True), ("exchange", False)])
def test_names_of_secrets(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret


@pytest.mark.parametrize("piece", ["a", "secret", "token-", "://", 'secret="', "\\", "-----BEGIN PRIVATE KEY"])
def test_no_text_takes_long(piece: str) -> None:
    begun = steady_now()
    without_secrets(piece * (10_000 // len(piece)))
    assert steady_now() - begun < 5_000_000


@given(st.binary(min_size=30, max_size=48), st.sampled_from(["", "/", "//"]))
def test_a_line_of_a_key_stays_hidden_wherever_its_slashes_are(key: bytes, before: str) -> None:
    text = before + b64encode(key).decode()
    is_cased = any(
        part != part.lower() and part[1:] != part[1:].lower() and part != part.upper() for part in text.split("/")
    )
    assume(is_cased)
    assert without_secrets(text) == HIDDEN
