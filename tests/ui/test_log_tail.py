"""The end of a log, whatever the file is like; never a secret, never another file."""

import json
import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from launch.setup.login_files import own_logins, write_logins
from runtime.logins import Login
from ui.services.log_tail import (
    MAX_BYTES,
    MAX_CHARACTERS,
    Level,
    LogQuestion,
    NoLogError,
    log_names,
    log_tail,
    newest_of_all,
)

PARTS = frozenset({"cep", "bot-kraken", "kafka", "mongodb"})
OWN_KEY = "the-owners-key-of-this-folder"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "api_key").write_text(f"{OWN_KEY}\n")
    return tmp_path


def event(text: str, level: str = "INFO", **fields: object) -> bytes:
    row = {"time": "2026-11-21 17:00:00,000", "level": level, "logger": "cep", "event": text, **fields}
    return json.dumps(row).encode() + b"\n"


def write(home: Path, content: bytes, name: str = "cep.log") -> None:
    (home / "logs" / name).write_bytes(content)


def shown(home: Path, question: LogQuestion = LogQuestion()) -> list[str]:  # noqa: B008 - frozen
    return [line["event"] for line in log_tail(home, "cep", PARTS, question)["lines"]]


def test_the_newest_lines_come_oldest_first(home: Path) -> None:
    write(home, b"".join(event(f"event {number}", offset=number) for number in range(10)))
    tail = log_tail(home, "cep", PARTS, LogQuestion(lines=3))
    assert [line["event"] for line in tail["lines"]] == ["event 7", "event 8", "event 9"]
    assert tail["lines"][0]["fields"] == {"offset": "7"}
    assert not tail["is_complete"]
    assert log_tail(home, "cep", PARTS, LogQuestion(lines=10))["is_complete"]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("DEBUG", ["quiet", "fine", "odd", "bad", "at cep.detection.job line 3", "broken"]),
        ("WARNING", ["odd", "bad", "at cep.detection.job line 3", "broken"]),
        ("ERROR", ["bad", "at cep.detection.job line 3", "broken"]),
        ("CRITICAL", ["broken"]),
    ],
)
def test_levels_are_a_floor_and_a_trace_has_that_of_its_event(home: Path, level: Level, expected: list[str]) -> None:
    lines = [event("quiet", "DEBUG"), event("fine"), event("odd", "WARNING"), event("bad", "ERROR")]
    write(home, b"".join([*lines, b"  at cep.detection.job line 3\n", event("broken", "CRITICAL")]))
    assert shown(home, LogQuestion(level=level)) == expected


def test_text_is_looked_for_in_events_and_fields_whatever_its_case(home: Path) -> None:
    write(home, event("order FILLED") + event("other", exchange="Filled-Exchange") + event("nothing"))
    assert shown(home, LogQuestion(text="filled")) == ["order FILLED", "other"]


def test_a_log_put_aside_is_read_on(home: Path) -> None:
    write(home, event("first") + event("second"), "cep.log.1")
    write(home, event("third"))
    assert shown(home) == ["first", "second", "third"]


def test_an_empty_log_has_no_lines(home: Path) -> None:
    write(home, b"")
    assert log_tail(home, "cep", PARTS, LogQuestion()) == {"part": "cep", "lines": [], "is_complete": True}


def test_a_log_cut_off_in_the_middle_of_a_line_is_shown_as_far_as_it_goes(home: Path) -> None:
    write(home, event("whole") + event("cut off in the middle")[:60])
    assert shown(home)[0] == "whole"
    assert len(shown(home)) == 2


def test_bytes_that_are_no_text_move_no_cursor(home: Path) -> None:
    write(home, b"\x00\x1b[2Jclear\x07\xff\xfe\n" + bytes(range(256)) + b"\n")
    text = "".join(shown(home))
    assert text.isprintable()
    assert "[2Jclear" in text


def test_a_huge_log_is_read_from_its_end_alone(home: Path) -> None:
    with (home / "logs" / "cep.log").open("wb") as log:
        log.truncate(50 * MAX_BYTES)
        log.seek(0, os.SEEK_END)
        log.write(b"\n" + event("the end"))
    tail = log_tail(home, "cep", PARTS, LogQuestion())
    assert [line["event"] for line in tail["lines"]] == ["the end"]
    assert not tail["is_complete"]


def test_a_huge_line_is_shortened_and_one_without_its_beginning_left_out(home: Path) -> None:
    write(home, event("x" * 100_000))
    (line,) = shown(home)
    assert len(line) <= MAX_CHARACTERS + 3
    write(home, b'{"password": "' + b"y" * (2 * MAX_BYTES))
    assert shown(home) == ["(a line too long to be shown)"]


def test_lines_of_mongod_and_of_a_jvm_have_levels(home: Path) -> None:
    mongod = {"t": {"$date": "2026-11-21T17:00:00Z"}, "s": "E", "c": "NETWORK", "msg": "rejected", "attr": {"port": 1}}
    write(home, json.dumps(mongod).encode() + b"\n26/11/21 17:00:00 WARN TaskSetManager: Lost task\n")
    first, second = log_tail(home, "cep", PARTS, LogQuestion())["lines"]
    assert (first["level"], first["logger"], first["event"], first["fields"]) == (
        "ERROR", "NETWORK", "rejected", {"attr": '{"port": 1}'},
    )  # fmt: skip
    assert (second["level"], second["logger"]) == ("WARNING", None)


@pytest.mark.parametrize(
    "part", ["", "..", "../api_key", "api_key", "cep.log", "/etc/passwd", "logs/cep", "cep\x00", "ui"]
)
def test_no_name_but_a_parts_leads_to_a_file(home: Path, part: str) -> None:
    write(home, event("here"))
    write(home, event("of a part of another session"), "ui.log")
    with pytest.raises(NoLogError, match="no part"):
        log_tail(home, part, PARTS, LogQuestion())


def test_a_part_without_a_log_and_a_link_in_its_place_are_none(home: Path) -> None:
    (home / "logs" / "kafka.log").symlink_to(home / "api_key")
    os.mkfifo(home / "logs" / "mongodb.log")
    write(home, event("here"))
    assert log_names(home, PARTS) == ("cep",)
    for part in ("bot-kraken", "kafka", "mongodb"):
        with pytest.raises(NoLogError, match="no log here"):
            log_tail(home, part, PARTS, LogQuestion())


SECRET = "s3cr3t-of-an-exchange"


@pytest.mark.parametrize(
    "line",
    [
        event(f"asked with {OWN_KEY}"),
        event(f"apiKey={SECRET}"),
        event("rejected", headers={"API-Key": SECRET}),
        event("rejected", secret=SECRET),
        event("rejected", password=[SECRET]),
        event("rejected", url=f"https://user:{SECRET}@exchange.example/"),
        event("failed", trace=f"Traceback\n  File x\nError: {{'secret': '{SECRET}'}}"),
        event(f"{'x' * 970} secret={SECRET} {'x' * 5_000}"),
        f'java.lang.Exception: sasl.jaas.config password="{SECRET}"\n'.encode(),
        f"-----BEGIN PRIVATE KEY-----\n{'QUJD' * 16}\nQUJDs3cr3t==\n-----END PRIVATE KEY-----\n".encode(),
        json.dumps({"t": {"$date": "x"}, "s": "I", "msg": "auth", "attr": {"password": SECRET}}).encode() + b"\n",
    ],
)
def test_no_secret_is_ever_shown(home: Path, line: bytes) -> None:
    write(home, event("before") + line + event("after"))
    text = json.dumps(log_tail(home, "cep", PARTS, LogQuestion()))
    assert "s3cr3t" not in text
    assert OWN_KEY not in text
    assert "QUJDQUJD" not in text
    assert "[hidden]" in text
    assert "before" in text
    assert "after" in text


def test_a_filter_finds_no_secret_either(home: Path) -> None:
    write(home, event("rejected", secret=SECRET))
    assert shown(home, LogQuestion(text="s3cr")) == []


def test_a_path_of_the_data_folder_is_no_secret(home: Path) -> None:
    checkpoint = f"{home}/checkpoints/0123456789abcdef0123456789abcdef/0123456789abcdef"
    write(home, event("continuing", checkpoint=checkpoint, elsewhere="/0123456789abcdef0123456789abcdef0123456789"))
    (line,) = log_tail(home, "cep", PARTS, LogQuestion())["lines"]
    assert line["fields"] == {"checkpoint": checkpoint, "elsewhere": "[hidden]"}


def test_passwords_of_the_services_are_hidden_however_they_are_named(home: Path) -> None:
    write_logins(home, "ui", Login("ui", "wide-open", "PLAIN", "SASL_SSL"), Login("ui", "wide-open-door"))
    own = own_logins(home)
    secrets = ["wide-open", "wide-open-door", own.controller, own.mongodb_key, *own.passwords.values()]
    (home / "logins" / "bot.json").write_text("{ cut of")
    write(home, b"".join(event(f"ui says {word} by PLAIN", of=f"<{word}>") for word in secrets))
    tail = log_tail(home, "cep", PARTS, LogQuestion())["lines"]
    assert len(tail) == len(secrets)
    assert {(line["event"], line["fields"]["of"]) for line in tail} == {("ui says [hidden] by PLAIN", "<[hidden]>")}


def test_lines_of_all_logs_stand_by_their_times(home: Path) -> None:
    noon = datetime(2026, 12, 1, 12, tzinfo=UTC).astimezone()
    here = noon.replace(tzinfo=None)
    at = [(here + timedelta(milliseconds=500 * number)).isoformat(timespec="milliseconds") for number in range(5)]
    ours = [(1, "ours"), (3, "later")]
    write(home, b"".join(event(text, time=at[number].replace("T", " ").replace(".", ",")) for number, text in ours))
    jvms = ["Exception in thread", f"{at[2]} WARN Controller late", "\tat a.line", f"{at[4]} INFO Done"]
    write(home, "\n".join(jvms).encode() + b"\n", "kafka.log")
    # by its digits at another time than by its offset
    elsewhere = (noon + timedelta(milliseconds=1_200)).astimezone(timezone(timedelta(hours=-11)))
    mongods = {
        "t": {"$date": elsewhere.isoformat(timespec="milliseconds")},
        "s": "I",
        "c": "NETWORK",
        "msg": "accepted",
    }
    write(home, json.dumps(mongods).encode() + b"\n", "mongodb.log")
    lines, is_complete = newest_of_all(home, PARTS, LogQuestion())
    assert [(part, row["event"]) for part, row in lines] == [
        ("kafka", jvms[0]),
        ("cep", "ours"),
        ("kafka", jvms[1]),
        ("kafka", "at a.line"),
        ("mongodb", "accepted"),
        ("cep", "later"),
        ("kafka", jvms[3]),
    ]
    assert is_complete
    # by the line before it, also where that does not match
    found, is_complete = newest_of_all(home, PARTS, LogQuestion(lines=2, text="a"))
    assert [row["event"] for _, row in found] == ["accepted", "later"]
    assert not is_complete
