"""`arbitrage certificates`: an authority that stays, certificates that clients accept, and what is refused."""

import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from launch.commands.doctor import own_certificate_findings
from launch.commands.entry_points import run_words
from launch.errors import CannotStartError
from launch.setup.authority_folder import AUTHORITY_DAYS, AuthorityFiles, IssuedFile, issue_files
from launch.setup.data_dir import CERTIFICATES
from market.time_units import MICROSECONDS
from runtime.certificate_issuing import SERVER_DAYS, moment_of
from runtime.clock import wall_now
from tests.tls_handshake import shake_hands

HOSTS = ["kafka.example", "10.0.0.5"]


@pytest.fixture
def files(tmp_path: Path) -> AuthorityFiles:
    return AuthorityFiles(tmp_path / "made")


def issued(files: AuthorityFiles, *hosts: str, days: float = 0) -> dict[str, str]:
    """Return what was done, by the file's name; `days` from now."""
    moment = moment_of(wall_now()) + timedelta(days=days)
    return {one.path.stem: one.done for one in issue_files(files, hosts, moment)}


def contents(files: AuthorityFiles) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in files.folder.rglob("*.pem")}


def test_clients_accept_each_host_by_its_own_names_and_by_no_other(files: AuthorityFiles, tmp_path: Path) -> None:
    assert issued(files, *HOSTS) == {"ca": "made", "kafka.example": "made", "10.0.0.5": "made"}
    for host in HOSTS:
        for name in (host, "localhost", "127.0.0.1", "::1"):
            shake_hands(files.ca, files.server(host), name)
        for name in {*HOSTS, "127.0.0.2"} - {host}:
            with pytest.raises(ssl.SSLCertVerificationError, match="not valid for"):
                shake_hands(files.ca, files.server(host), name)
    other = AuthorityFiles(tmp_path / "other")
    issued(other, *HOSTS)
    with pytest.raises(ssl.SSLCertVerificationError, match=r"unable to get local issuer|self-signed"):
        shake_hands(other.ca, files.server("kafka.example"), "kafka.example")


def test_an_expired_certificate_is_not_accepted(files: AuthorityFiles) -> None:
    issued(files, "kafka.example", days=-SERVER_DAYS - 1)
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake_hands(files.ca, files.server("kafka.example"), "kafka.example")


def test_without_hosts_it_is_for_this_machine(files: AuthorityFiles) -> None:
    assert issued(files) == {"ca": "made", "localhost": "made"}
    assert issued(files) == {"ca": "kept", "localhost": "kept"}


def test_only_the_owner_may_read_keys_and_no_server_has_the_authoritys(files: AuthorityFiles) -> None:
    issued(files, *HOSTS)
    assert {path.stat().st_mode & 0o777 for path in files.folder.rglob("*.pem")} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (files.folder, files.servers)} == {0o700}
    key = files.ca_key.read_bytes().splitlines()[1]
    assert [name for name, content in contents(files).items() if key in content] == ["ca_key.pem"]
    assert b"PRIVATE" not in files.ca.read_bytes()


def test_hosts_are_added_to_an_authority_that_stays(files: AuthorityFiles) -> None:
    issued(files, "kafka.example")
    before = contents(files)
    assert issued(files, "db.example") == {"ca": "kept", "kafka.example": "kept", "db.example": "made"}
    assert before.items() <= contents(files).items()
    shake_hands(files.ca, files.server("db.example"), "db.example")


def test_what_is_about_to_end_is_renewed_by_the_same_authority(files: AuthorityFiles) -> None:
    issued(files, "kafka.example")
    before = contents(files)
    assert issued(files, days=SERVER_DAYS - 31) == {"ca": "kept", "kafka.example": "kept"}
    assert issued(files, "db.example", days=SERVER_DAYS - 29) == {
        "ca": "kept",
        "kafka.example": "renewed",
        "db.example": "made",
    }
    changed = {name for name, content in contents(files).items() if before.get(name) != content}
    assert changed == {"kafka.example.pem", "db.example.pem"}


@pytest.mark.parametrize("content", ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_file_that_cannot_be_used_is_replaced_only_where_it_is_asked_for(files: AuthorityFiles, content: str) -> None:
    issued(files, *HOSTS)
    files.server("kafka.example").write_text(content)
    assert issued(files)["kafka.example"] == "unusable"
    assert files.server("kafka.example").read_text() == content
    assert issued(files, "kafka.example")["kafka.example"] == "replaced"
    shake_hands(files.ca, files.server("kafka.example"), "kafka.example")


def test_a_certificate_of_another_authority_is_not_kept(files: AuthorityFiles, tmp_path: Path) -> None:
    other = AuthorityFiles(tmp_path / "other")
    issued(other, "kafka.example")
    issued(files, "kafka.example")
    files.server("kafka.example").write_bytes(other.server("kafka.example").read_bytes())
    assert issued(files)["kafka.example"] == "unusable"


@pytest.mark.parametrize("name", ["ca.pem", "ca_key.pem"])
@pytest.mark.parametrize("content", [None, "nonsense"])
def test_half_an_authority_is_one_sentence_and_stays(files: AuthorityFiles, name: str, content: str | None) -> None:
    issued(files, "kafka.example")
    path = files.folder / name
    path.unlink() if content is None else path.write_text(content)
    before = contents(files)
    with pytest.raises(CannotStartError, match=r"put it back|put the right ones back") as rejected:
        issued(files, "db.example")
    assert str(path.name) in str(rejected.value)
    assert contents(files) == before


def test_an_authority_that_ends_signs_nothing_more(files: AuthorityFiles) -> None:
    issued(files)
    with pytest.raises(CannotStartError, match=r"ca\.pem ends on 20\d\d-\d\d-\d\d; name another folder"):
        issued(files, "db.example", days=AUTHORITY_DAYS - 29)


def test_no_server_outlives_its_authority(files: AuthorityFiles) -> None:
    issued(files)
    moment = moment_of(wall_now()) + timedelta(days=AUTHORITY_DAYS - 40)
    ends: list[IssuedFile] = list(issue_files(files, ["db.example"], moment))
    assert {one.until for one in ends} == {ends[0].until}


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["certificates", "--out", str(tmp_path / "out"), "--host", "Kafka.Example", "10.0.0.5", "--host", "::1"]
    assert run_words(words) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(": ")[0] for line in said[:4]] == ["authority", "kafka.example", "10.0.0.5", "::1"]
    assert "every client needs this file" in said[0]
    assert run_words(words) == 0
    assert "was there and is kept" in capsys.readouterr().out


@pytest.mark.parametrize(
    "host", ["a_b", "", "*.example", "10.0.0.256", "a/../b", "db.example:27017", "a" * 64, "fe80::1%eth0", "::1%a\n"]
)
def test_what_is_no_host_is_one_sentence(host: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_words(["certificates", "--out", str(tmp_path / "out"), "--host", host]) == 2
    said = capsys.readouterr().err
    assert said == f"arbitrage: --host {host!r} is not a host name or an IP address; write it as in db.example.com.\n"
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run_words(["certificates", "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_doctor_says_when_they_end(tmp_path: Path) -> None:
    now = wall_now()
    assert list(own_certificate_findings(tmp_path, now)) == []
    made = AuthorityFiles(tmp_path / CERTIFICATES)
    issued(made, "kafka.example")
    assert [one.state for one in own_certificate_findings(tmp_path, now)] == ["ok", "ok"]
    late = now + round(timedelta(days=SERVER_DAYS - 29).total_seconds()) * MICROSECONDS
    authority, server = own_certificate_findings(tmp_path, late)
    assert (authority.state, server.state) == ("ok", "advice")
    assert "kafka.example.pem ends on" in server.text
    made.ca.write_text("")
    made.server("kafka.example").unlink()
    (damaged,) = own_certificate_findings(tmp_path, now)
    assert (damaged.state, "holds no certificate" in damaged.text) == ("advice", True)


def test_a_clock_that_is_behind_renews_nothing(files: AuthorityFiles) -> None:
    issued(files, "kafka.example")
    before = contents(files)
    with pytest.raises(
        CannotStartError, match=r"ca\.pem is valid from 20\d\d-\d\d-\d\d on, and the clock of this machine"
    ):
        issued(files, days=-400)
    assert contents(files) == before


def test_a_key_that_others_may_read_signs_nothing(files: AuthorityFiles) -> None:
    issued(files)
    files.ca_key.chmod(0o640)
    with pytest.raises(CannotStartError, match=r"ca_key\.pem can be read by others; `chmod 600` it"):
        issued(files, "db.example")
    assert not files.server("db.example").exists()


@pytest.mark.parametrize("name", [".", "servers"])
def test_a_folder_that_others_may_change_gets_no_keys(files: AuthorityFiles, name: str, tmp_path: Path) -> None:
    """Also through a link."""
    folder = tmp_path / "real" / name
    folder.mkdir(parents=True)
    (tmp_path / "real").chmod(0o755)
    folder.chmod(0o777)
    files.folder.symlink_to(tmp_path / "real")
    with pytest.raises(CannotStartError, match="can be changed by others; name a folder of your own"):
        issued(files)
    assert list((tmp_path / "real").rglob("*.pem")) == []
