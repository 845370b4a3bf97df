"""`[[notices]]`: a mistake of any kind is one sentence and exit code 2; what a session gets holds no secret."""

from pathlib import Path

import pytest

from launch.commands.main import run
from launch.commands.notice_test import report_test_messages
from launch.config.configuration import read_configuration
from launch.config.notice_destinations import configured_destinations
from launch.errors import CannotStartError
from launch.supervisor.process_groups import child_environment
from launch.supervisor.process_plan import own_processes
from notices.channels.secrets import MailSecrets, secrets_of
from runtime.secret_files import PROJECT
from session.notice_destinations import Destination
from session.session import Services, Session, Upkeep
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.notices.receivers import Answer, receiving
from tests.notices.samples import CHAT, KEY, TOKEN

URL = "https://hooks.example.com/AAtheKey"
WEBHOOK = '[[notices]]\nkind = "webhook"\nname = "desk"\n'
TELEGRAM = '[[notices]]\nkind = "telegram"\n'
DISCORD = '[[notices]]\nkind = "discord"\n'
MAIL = '[[notices]]\nkind = "email"\n'
MAIL_OF = {
    "ARBITRAGE_NOTICES_EMAIL_SERVER": "mail.example.com",
    "ARBITRAGE_NOTICES_EMAIL_SENDER": "desk@example.com",
    "ARBITRAGE_NOTICES_EMAIL_RECIPIENTS": "one@example.com, two@example.com",
}
DESK = {"ARBITRAGE_NOTICES_DESK_URL": URL}
CHAT_OF = {"ARBITRAGE_NOTICES_TELEGRAM_TOKEN": TOKEN, "ARBITRAGE_NOTICES_TELEGRAM_CHAT": CHAT}


def reported(folder: Path, text: str, environment: dict[str, str]) -> object:
    path = folder / "arbitrage.toml"
    path.write_text(text)
    return configured_destinations(read_configuration(path, {}).notices, environment)


@pytest.mark.parametrize(
    ("text", "environment", "place"),
    [
        ("notices = 1", {}, "notices"),
        ("[notices]\nkind = 1", {}, "notices"),
        ('[[notices]]\nname = "x"', {}, "notices.0.kind: is missing"),
        ('[[notices]]\nkind = "pager"', {}, "notices.0.kind"),
        (WEBHOOK + "url = 'https://x'", {}, "notices.0.url: there is no such setting"),
        (TELEGRAM + "token = '1:x'", {}, "notices.0.token: there is no such setting"),
        ('[[notices]]\nkind = "webhook"\nname = "De sk"', {}, "notices.0.name"),
        (WEBHOOK + 'events = ["dividends"]', DESK, "notices.0.events.0"),
        (WEBHOOK + "events = []", DESK, "notices.0.events"),
        (WEBHOOK + 'events = ["notifier"]', DESK, "notifier goes to every destination"),
        (WEBHOOK + 'assets = ["btc"]', DESK, "notices.0.assets"),
        (WEBHOOK + 'pairs = ["kraken-bitflyer"]', DESK, "notices.0.pairs"),
        (WEBHOOK + "min_profit = -1", DESK, "notices.0.min_profit"),
        (WEBHOOK + "per_minute = 0", DESK, "notices.0.per_minute"),
        (WEBHOOK + "per_minute = 61", DESK, "notices.0.per_minute"),
        (WEBHOOK + "drop_after_minutes = 0", DESK, "notices.0.drop_after_minutes"),
        (WEBHOOK + 'telegram_url = "https://x"', DESK, "telegram_url is for destinations of kind telegram"),
        (WEBHOOK + WEBHOOK, DESK, "two destinations are called 'desk'"),
        (WEBHOOK, {}, "needs ARBITRAGE_NOTICES_DESK_URL in the environment, or a secrets_file"),
        (TELEGRAM, {}, "needs ARBITRAGE_NOTICES_TELEGRAM_TOKEN and ARBITRAGE_NOTICES_TELEGRAM_CHAT"),
        (TELEGRAM, CHAT_OF | {"ARBITRAGE_NOTICES_TELEGRAM_TOKEN": "AAnumber"}, "its token is not a @BotFather token"),
        (TELEGRAM + 'telegram_url = "http://example.com"', CHAT_OF, "telegram_url must begin with https://"),
        (WEBHOOK, {"ARBITRAGE_NOTICES_DESK_URL": "http://example.com/AAtheKey"}, "must begin with https://"),
        (WEBHOOK, {"ARBITRAGE_NOTICES_DESK_URL": "ftp://example.com/AAtheKey"}, "is no address"),
        (WEBHOOK, {"ARBITRAGE_NOTICES_DESK_URL": "https:///AAtheKey"}, "is no address"),
        (WEBHOOK, {"ARBITRAGE_NOTICES_DESK_URL": "https://[AAtheKey"}, "is no address"),
        (WEBHOOK, {"ARBITRAGE_NOTICES_DESK_URL": "https://a:AAtheKey@example.com"}, "no name or password"),
        (WEBHOOK, DESK | {"ARBITRAGE_NOTICES_DESK_SIGNING_KEY": "AAtheKey"}, "signing_key is shorter than 16"),
        (DISCORD, {}, "needs ARBITRAGE_NOTICES_DISCORD_URL in the environment"),
        (DISCORD, {"ARBITRAGE_NOTICES_DISCORD_URL": "http://example.com/AAtheKey"}, "must begin with https://"),
        (DISCORD + 'telegram_url = "https://x"', {}, "telegram_url is for destinations of kind telegram"),
        (MAIL, {}, "needs ARBITRAGE_NOTICES_EMAIL_SERVER and"),
        (MAIL, MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_SERVER": "https://AAtheKey"}, "its server is no HOST:PORT"),
        (MAIL, MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_SERVER": "mail:AAtheKey"}, "its server is no HOST:PORT"),
        (MAIL, MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_SENDER": "AAtheKey"}, "is no mailbox"),
        (MAIL, MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_RECIPIENTS": "a@b.c\nBcc: AAtheKey@d.e"}, "is no mailbox"),
        (MAIL, MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_RECIPIENTS": " , "}, "its recipients must be 1 to 20 mailboxes"),
        (MAIL, MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_PASSWORD": "AAtheKey"}, "user and password belong together"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, environment: dict[str, str], place: str) -> None:
    with pytest.raises(CannotStartError) as caught:
        reported(tmp_path, text, environment)
    assert place in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "AAtheKey" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("content", "mode", "place"),
    [
        (f'url = "{URL}"', 0o640, "must be yours alone: chmod 600"),
        (f'url = "{URL}"', 0o604, "must be yours alone: chmod 600"),
        (f"url = {URL}", 0o600, "is not valid TOML"),
        ('signing_key = "0123456789abcdef"', 0o600, "needs url in"),
        (f'url = "{URL}"\ntoken = "x"', 0o600, "token is none of url, signing_key"),
        ("url = [1]", 0o600, "every value must be a text"),
        (None, 0o600, "cannot be read"),
    ],
)
def test_a_file_of_secrets(tmp_path: Path, content: str | None, mode: int, place: str) -> None:
    path = tmp_path / "desk.toml"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    with pytest.raises(CannotStartError) as caught:
        reported(tmp_path, f'{WEBHOOK}secrets_file = "{path}"', DESK)
    assert place in str(caught.value)
    assert "AAtheKey" not in str(caught.value)


@pytest.mark.parametrize(
    ("server", "host", "port"),
    [
        ("mail.example.com", "mail.example.com", 587),
        ("mail.example.com:465", "mail.example.com", 465),
        ("[::1]:25", "::1", 25),
    ],
)
def test_a_mail_server_has_a_port_of_its_own_or_that_of_submission(server: str, host: str, port: int) -> None:
    found = secrets_of(Destination("email", "email"), MAIL_OF | {"ARBITRAGE_NOTICES_EMAIL_SERVER": server})
    assert isinstance(found, MailSecrets)
    assert (found.host, found.port, found.recipients) == (host, port, ("one@example.com", "two@example.com"))


def test_a_file_within_the_project_is_none_for_secrets(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="lies within the project"):
        reported(tmp_path, f'{WEBHOOK}secrets_file = "{PROJECT}/pyproject.toml"', {})


def test_a_session_holds_no_secret(tmp_path: Path) -> None:
    path = tmp_path / "desk.toml"
    path.write_text(f'url = "{URL}"\nsigning_key = "{KEY}"')
    path.chmod(0o600)
    destinations = reported(tmp_path, f'{WEBHOOK}secrets_file = "{path}"\n{TELEGRAM}', CHAT_OF)
    assert isinstance(destinations, tuple)
    session = Session(
        "one",
        "paper",
        tmp_path,
        Services("k:1", "m", "d"),
        (USD_MARKET, EUR_MARKET),
        "USD",
        upkeep=Upkeep(notices=destinations),
    )
    text = session.to_json()
    assert Session.from_json(text) == session
    assert not [secret for secret in (URL, KEY, TOKEN, CHAT) if secret.encode() in text]
    names = [part.name for part in own_processes(session, ("kafka", "mongodb"), fed=True)]
    assert "notifier" in names


def test_nobody_is_reported_where_nothing_is_configured(tmp_path: Path) -> None:
    session = Session("one", "paper", tmp_path, Services("k:1", "m", "d"), (USD_MARKET, EUR_MARKET), "USD")
    assert "notifier" not in [part.name for part in own_processes(session, ("kafka", "mongodb"), fed=True)]


def test_no_other_process_gets_the_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (DESK | CHAT_OF).items():
        monkeypatch.setenv(name, value)
    assert not [name for name in child_environment("kraken") if name.startswith("ARBITRAGE_NOTICES_")]
    assert {**DESK, **CHAT_OF}.items() <= child_environment(is_notifier=True).items()


async def test_each_destination_says_what_became_of_the_test(tmp_path: Path) -> None:
    said: list[str] = []
    async with receiving() as receiver:
        text = f'{WEBHOOK}\n{TELEGRAM}telegram_url = "{receiver.url}"'
        environment = CHAT_OF | {"ARBITRAGE_NOTICES_DESK_URL": f"{receiver.url}/AAtheKey"}
        destinations = reported(tmp_path, text, environment)
        assert isinstance(destinations, tuple)
        assert await report_test_messages(destinations, environment, "paper", said.append) == 0
        receiver.answer = lambda got: Answer(
            404 if got.path.startswith("/bot") else 200, '{"description": "Not Found"}'
        )
        assert await report_test_messages(destinations, environment, "live", said.append) == 1
    assert said == [
        "desk: test message accepted",
        "telegram: test message accepted",
        "desk: test message accepted",
        "telegram: FAILED: HTTP 404 Not Found: Not Found",
    ]
    assert b"LIVE" in receiver.received[-1].body


def test_the_command_without_destinations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["notices", "test"]) == 2
    assert "no [[notices]] is configured" in capsys.readouterr().err
    monkeypatch.setenv("ARBITRAGE_HOME", str(tmp_path))
    session = Session("one", "paper", tmp_path, Services("k:1", "m", "d"), (USD_MARKET, EUR_MARKET), "USD")
    (tmp_path / "run.json").write_bytes(session.to_json())
    assert run(["notifier"]) == 2
    assert "has no [[notices]]" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(["notices", "send"])
