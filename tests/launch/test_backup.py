"""A backup is one private file from which a data folder comes back byte by byte; any other file restores nothing."""

import gzip
import io
import json
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from launch.backup.archive import FORMAT
from launch.backup.make import BackupOptions, run_backup
from launch.backup.restore import run_restore
from launch.backup.temporary_mongod import temporary_mongod
from launch.errors import CannotStartError
from launch.setup.data_dir import locked
from launch.setup.data_layout import LAYOUT, LAYOUT_FILE
from launch.setup.unfinished_restore import CHECKED, RESTORING
from store.backups.database_dump import blocking_database
from store.errors import StoreError
from store.server.embedded_mongod import mongod_program
from tests.launch.traded_folder import DATABASE, make_traded_folder

Documents = dict[str, list[dict[str, object]]]


@pytest.fixture(scope="module")
def traded_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        mongod_program()
    except StoreError as reason:
        pytest.skip(str(reason))
    return make_traded_folder(tmp_path_factory.mktemp("traded") / "home")


@pytest.fixture(scope="module")
def backup(traded_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("backups") / "backup.tar.gz"
    assert run_backup(traded_folder, BackupOptions(file), print) == 0
    return file


def documents_in(home: Path) -> Documents:
    with temporary_mongod(home, DATABASE) as address, blocking_database(address, DATABASE) as database:
        return {name: list(database[name].find()) for name in sorted(database.list_collection_names())}


def test_a_folder_comes_back_as_it_was(traded_folder: Path, backup: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    assert run_restore(tmp_path / "home", backup, lines.append) == 0
    assert "2 arbitrages, 2 fills" in lines[0]
    assert "reconciled to the last digit" in lines[0]
    assert documents_in(tmp_path / "home") == documents_in(traded_folder)
    assert (tmp_path / "home" / "exchanges" / "kraken.jsonl").read_text() == "{}\n"
    assert (tmp_path / "home" / LAYOUT_FILE).read_text() == f"{LAYOUT}\n"
    assert not (tmp_path / "home" / RESTORING).exists()


def test_it_is_private_and_has_no_secret_and_leaves_nothing_beside(backup: Path) -> None:
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert [path.name for path in backup.parent.iterdir()] == [backup.name]
    with tarfile.open(backup) as tar:
        names = tar.getnames()
    assert f"databases/{DATABASE}/fills.bson" in names
    assert "files/api_keys.json" in names
    assert not [name for name in names if "logins" in name or name.endswith(("api_key", "exchange_accounts.json"))]


def test_what_is_asked_for_goes_in_and_what_is_left_out_is_told(traded_folder: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    assert run_backup(traded_folder, BackupOptions(tmp_path / "b", ("keys",)), lines.append) == 0
    with tarfile.open(tmp_path / "b") as tar:
        assert {"files/api_key", "files/exchange_accounts.json"} <= set(tar.getnames())
    assert [line for line in lines if line.startswith("left out: recordings")]


def test_a_file_that_is_there_is_replaced_only_where_that_is_said(traded_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "backup"
    file.write_text("something else")
    with pytest.raises(CannotStartError, match="is there already"):
        run_backup(traded_folder, BackupOptions(file), print)
    assert file.read_text() == "something else"
    assert run_backup(traded_folder, BackupOptions(file, overwrite=True), print) == 0


def test_a_folder_without_sessions_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="no database of a session"):
        run_backup(tmp_path, BackupOptions(tmp_path / "backup"), print)
    assert not (tmp_path / "backup").exists()


def test_a_missing_folder_is_told_and_not_made(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="there is no data folder"):
        run_backup(tmp_path / "home", BackupOptions(tmp_path / "backup"), print)
    assert not (tmp_path / "home").exists()


def members_of(backup: Path) -> list[tuple[tarfile.TarInfo, bytes]]:
    with tarfile.open(backup) as tar:
        return [(info, content.read()) for info in tar if (content := tar.extractfile(info)) is not None]


def packed(members: list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    file = io.BytesIO()
    with gzip.open(file, "wb") as packing, tarfile.open(fileobj=packing, mode="w|") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return file.getvalue()


def with_member(backup: Path, name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> bytes:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    return packed([(info, b""), *members_of(backup)])


def with_contents(backup: Path, **changed: object) -> bytes:
    *members, (info, text) = members_of(backup)
    return packed([*members, (info, json.dumps(json.loads(text) | changed).encode())])


def without_databases(backup: Path) -> bytes:
    """Return the backup without its databases, also in its list."""
    *members, (info, text) = members_of(backup)
    contents = json.loads(text)
    contents["members"] = {name: one for name, one in contents["members"].items() if name.startswith("files/")}
    kept = [(member, content) for member, content in members if member.name.startswith("files/")]
    return packed([*kept, (info, json.dumps(contents).encode())])


def with_fills(backup: Path, content: bytes) -> bytes:
    return packed([(info, content if info.name.endswith("fills.bson") else was) for info, was in members_of(backup)])


def with_flipped_bit(backup: Path) -> bytes:
    content = bytearray(backup.read_bytes())
    content[len(content) // 2] ^= 1
    return bytes(content)


FAULTS: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "torn": (lambda path: path.read_bytes()[:-100], "torn, altered, or no backup"),
    "torn in its last byte": (lambda path: path.read_bytes()[:-1], "torn, altered, or no backup"),
    "empty": (lambda _: b"", "no backup"),
    "text": (lambda _: b"no archive", "torn, altered, or no backup"),
    "one bit": (with_flipped_bit, "torn, altered, or no backup"),
    "altered and packed again": (lambda path: with_fills(path, b""), "was altered"),
    "a member is missing": (lambda path: packed(members_of(path)[1:]), "was altered"),
    "no database": (without_databases, "which would have a database"),
    "no list": (lambda path: packed(members_of(path)[:-1]), "no list of contents"),
    "newer": (lambda path: with_contents(path, format=FORMAT + 1), "newer version"),
    "newer layout": (lambda path: with_contents(path, layout=LAYOUT + 1), "newer version"),
    "list damaged": (lambda path: with_contents(path, members=3), "list of contents is damaged"),
    "upwards": (lambda path: with_member(path, "files/../../evil"), "would have no"),
    "absolute": (lambda path: with_member(path, "/tmp/evil"), "would have no"),
    "elsewhere": (lambda path: with_member(path, "evil"), "would have no"),
    "twice": (lambda path: with_member(path, "files/api_keys.json"), "would have no"),
    "link": (lambda path: with_member(path, "files/evil", tarfile.SYMTYPE, "/etc"), "would have no"),
    "hard link": (lambda path: with_member(path, "files/evil", tarfile.LNKTYPE, "/etc/passwd"), "would have no"),
    "device": (lambda path: with_member(path, "files/evil", tarfile.CHRTYPE), "would have no"),
    "another's database": (lambda path: with_member(path, "databases/admin/users.bson"), "was altered"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_nothing_comes_of_what_is_no_whole_backup(backup: Path, tmp_path: Path, fault: str) -> None:
    made, why = FAULTS[fault]
    file, home = tmp_path / "backup", tmp_path / "home"
    file.write_bytes(made(backup))
    with pytest.raises(CannotStartError, match=why) as error:
        run_restore(home, file, print)
    assert str(file) in str(error.value)
    assert {path.name for path in home.iterdir()} <= {"lock", "logs"}


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="no such file"):
        run_restore(tmp_path / "home", tmp_path / "nothing", print)


def test_only_an_empty_folder_is_filled(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "mongodb").mkdir()
    with pytest.raises(CannotStartError, match=r"not empty \(mongodb\)"):
        run_restore(tmp_path, backup, print)


def test_a_folder_in_use_is_left_alone(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("")
    with locked(tmp_path), pytest.raises(CannotStartError, match="in use by a running session"):
        run_restore(tmp_path, backup, print)


@pytest.mark.parametrize("moved", [(), ("mongodb",)])
def test_a_restore_that_was_cut_short_is_finished_by_the_next_use(tmp_path: Path, moved: tuple[str, ...]) -> None:
    files = tmp_path / RESTORING / "files"
    for name in ("exchanges", "mongodb"):
        ((tmp_path if name in moved else files) / name).mkdir(parents=True)
    (tmp_path / RESTORING / CHECKED).touch()
    with locked(tmp_path):
        assert (tmp_path / "exchanges").is_dir()
        assert (tmp_path / "mongodb").is_dir()
        assert not (tmp_path / RESTORING).exists()


FALSE_BOOKS: tuple[tuple[str, dict[str, object], dict[str, object], str], ...] = (
    ("fills", {"side": "buy"}, {"amount": "1.4999"}, "says something else in the ledger"),
    (
        "balances",
        {"currency": "EUR"},
        {"free": "0.00000001"},
        "beta EUR: 0.00000001 in the books, by opening, fills and transfers",
    ),
    ("balances", {"currency": "USD"}, {"held": "1"}, "alpha USD: 1 held, and legs and transfers hold 50.05"),
    ("claims", {"_id": "session"}, {"open_arbitrages": 7}, "7 arbitrages are counted as open, and 1 are"),
    ("claims", {"_id": {"$regex": "^pair"}}, {"arbitrage_id": "gone"}, "is claimed by gone, which is not open"),
)


def test_books_that_do_not_balance_are_told(backup: Path, tmp_path: Path) -> None:
    home, lines = tmp_path / "home", list[str]()
    assert run_restore(home, backup, print) == 0
    with temporary_mongod(home, DATABASE) as address, blocking_database(address, DATABASE) as database:
        for collection, wanted, changed, _ in FALSE_BOOKS:
            assert database[collection].update_one(wanted, {"$set": changed}).modified_count == 1
    false, good = tmp_path / "false", tmp_path / "good"
    assert run_backup(home, BackupOptions(false), lines.append) == 1
    for *_, why in FALSE_BOOKS:
        assert [line for line in lines if why in line], why
    assert "NOT reconciled" in lines[-1]
    good.write_bytes(backup.read_bytes())
    assert run_backup(home, BackupOptions(good, overwrite=True), lines.append) == 1
    assert good.read_bytes() == backup.read_bytes()
    assert lines[-1].startswith(f"{good}.not-reconciled: ")
    assert {path.name for path in tmp_path.iterdir()} == {"home", "false", "good", "good.not-reconciled"}
