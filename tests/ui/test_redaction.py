"""No secret is shown, whatever part wrote it and however."""

import pytest

from market.clock import steady_now
from ui.redaction import HIDDEN, is_secret_name, may_hold_secret, without_secrets

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
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert without_secrets(text) == text


def test_keys_over_several_lines_and_a_bots_address_are_hidden() -> None:
    key = "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----"
    assert without_secrets(f"read {key} from file") == f"read {HIDDEN} from file"
    assert without_secrets("A" * 64) == HIDDEN
    assert "AAE" not in without_secrets("POST https://chat.example/bot123456:AAEabc_def/sendMessage")


@pytest.mark.parametrize(("name", "is_secret"), [("apiKey", True), ("api_secret", True), ("exchange", False)])
def test_names_of_secrets(name: str, is_secret: bool) -> None:
    assert is_secret_name(name) is is_secret


@pytest.mark.parametrize("piece", ["a", "secret", "token-", "://", 'secret="', "\\", "-----BEGIN PRIVATE KEY"])
def test_no_text_takes_long(piece: str) -> None:
    begun = steady_now()
    without_secrets(piece * (10_000 // len(piece)))
    assert steady_now() - begun < 5_000_000
