"""The certificate of simulated exchanges: made once, private, and replaced before it expires."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from simulators.web.certificates import Certificates, ensure_certificates

NAMES = ["kraken.localhost"]


def micros(**length: float) -> int:
    return round(timedelta(**length).total_seconds() * MICROSECONDS)


def texts(files: Certificates) -> tuple[str, str, str]:
    return files.ca.read_text(), files.server.read_text(), files.key.read_text()


def test_it_stays_the_same_and_only_its_owner_may_read_the_key(tmp_path: Path) -> None:
    now = wall_now()
    first = texts(ensure_certificates(tmp_path, NAMES, now))
    again = ensure_certificates(tmp_path, NAMES, now + micros(days=300))
    assert texts(again) == first
    assert again.key.stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ca.pem", "server.pem", "server_key.pem"]
    assert "PRIVATE" not in first[0] + first[1]


@pytest.mark.parametrize(
    ("days", "names"), [(380, NAMES), (-1, NAMES), (0, [*NAMES, "binance.localhost"])], ids=["late", "early", "names"]
)
def test_it_is_replaced_when_it_no_longer_fits(tmp_path: Path, days: int, names: list[str]) -> None:
    now = wall_now()
    first = texts(ensure_certificates(tmp_path, NAMES, now))
    assert set(first).isdisjoint(texts(ensure_certificates(tmp_path, names, now + micros(days=days))))


@pytest.mark.parametrize("name", ["ca.pem", "server.pem", "server_key.pem"])
@pytest.mark.parametrize("content", [None, "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_missing_or_damaged_file_is_replaced(tmp_path: Path, name: str, content: str | None) -> None:
    files = ensure_certificates(tmp_path, NAMES, wall_now())
    path = tmp_path / name
    path.unlink() if content is None else path.write_text(content)
    ensure_certificates(tmp_path, NAMES, wall_now()).server_context()
    ssl.create_default_context(cafile=str(files.ca))
