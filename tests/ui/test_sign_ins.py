"""A signed-in browser: by a cookie that only this data folder can make, for as long as its key counts."""

from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.ui.samples import session_of
from ui.auth.access_service import Access
from ui.auth.api_keys import digest_of, ensure_api_key, new_key, owner_key
from ui.auth.key_store import StoredKey, add_key, revoke_key
from ui.auth.sign_ins import SECRET_FILE, SIGN_IN_SECONDS, SIGN_OUTS_FILE, SignIns
from ui.auth.started_sign_ins import MOST_OF_A_KEY, SIGN_INS_FILE, StartedSignIn


def desk(home: Path) -> StoredKey:
    kept = StoredKey("desk", "viewer", wall_now(), digest_of(new_key()))
    add_key(home, kept)
    return kept


def test_a_cookie_says_who_signed_in_and_holds_no_key(tmp_path: Path) -> None:
    key, sign_ins = desk(tmp_path), SignIns(tmp_path)
    cookie = sign_ins.begin(key)
    caller = sign_ins.caller(cookie, "127.0.0.1")
    assert caller is not None
    assert (caller.name, caller.role, caller.means, caller.address) == ("desk", "viewer", "sign-in", "127.0.0.1")
    assert key.digest not in cookie
    assert (tmp_path / SECRET_FILE).stat().st_mode & 0o777 == 0o600


def test_it_holds_after_a_restart_and_not_after_signing_out(tmp_path: Path) -> None:
    sign_ins = SignIns(tmp_path)
    cookie = sign_ins.begin(desk(tmp_path))
    assert SignIns(tmp_path).caller(cookie) is not None
    sign_ins.end(cookie)
    assert sign_ins.caller(cookie) is None
    assert SignIns(tmp_path).caller(cookie) is None, "nor after a restart"
    assert (tmp_path / SIGN_OUTS_FILE).stat().st_mode & 0o777 == 0o600


def test_the_list_of_sign_outs_forgets_what_is_over_and_a_line_that_was_cut_off(tmp_path: Path) -> None:
    sign_ins, later = SignIns(tmp_path), wall_now() + 60 * MICROSECONDS
    key = desk(tmp_path)
    (tmp_path / SIGN_OUTS_FILE).write_text(f"over 1\nrunning {later}\nhalf\n\nno number\n")
    first, second = sign_ins.begin(key), sign_ins.begin(key)
    sign_ins.end(first)
    kept = (tmp_path / SIGN_OUTS_FILE).read_text().split("\n")
    assert [line.split()[0] for line in kept if line] == ["running", first.split(":")[2]]
    assert (sign_ins.caller(first), sign_ins.caller(second) is None) == (None, False)


def test_the_list_of_sign_ins_is_private_and_forgets_what_is_over(tmp_path: Path) -> None:
    sign_ins, key = SignIns(tmp_path), desk(tmp_path)
    path = tmp_path / SIGN_INS_FILE
    over = StartedSignIn("a", "desk", "viewer", key.mark, 1, 2)
    path.write_bytes(TypeAdapter(tuple[StartedSignIn, ...]).dump_json((over,)))
    cookie = sign_ins.begin(key, "10.0.0.7", "x" * 1_000)
    (newest,) = sign_ins.current()
    assert (newest.address, len(newest.browser), newest.sign_in_id in cookie) == ("10.0.0.7", 200, False)
    assert path.stat().st_mode & 0o777 == 0o600
    # one that cannot be read costs the list, and no sign-in
    path.write_text("{")
    assert sign_ins.current() == []
    assert sign_ins.caller(cookie) is not None
    assert sign_ins.caller(sign_ins.begin(key)) is not None


def test_a_key_has_a_bound_of_browsers_and_takes_no_place_of_another(tmp_path: Path) -> None:
    sign_ins, key = SignIns(tmp_path), desk(tmp_path)
    owners = sign_ins.begin(owner_key(tmp_path))
    oldest, *others = (sign_ins.begin(key) for _ in range(MOST_OF_A_KEY + 1))
    assert [sign_ins.caller(cookie) is None for cookie in (owners, oldest, *others)] == [
        *(False, True),
        *[False] * MOST_OF_A_KEY,
    ]
    assert [one.name for one in sign_ins.current()] == [*["desk"] * MOST_OF_A_KEY, "owner"]


def test_what_a_sign_in_opened_holds_no_longer_than_it(tmp_path: Path) -> None:
    access = Access(session_of(tmp_path))
    key = desk(tmp_path)
    ended, other = (access.sign_ins.begin(key) for _ in range(2))
    callers = [access.sign_ins.caller(cookie) for cookie in (ended, other)]
    access.sign_ins.end(ended)
    assert [access.still_holds(caller) for caller in callers if caller is not None] == [False, True]


def test_a_revoked_or_replaced_key_signs_out(tmp_path: Path) -> None:
    sign_ins = SignIns(tmp_path)
    cookie, owners = sign_ins.begin(desk(tmp_path)), sign_ins.begin(owner_key(tmp_path))
    revoke_key(tmp_path, "desk")
    assert sign_ins.caller(cookie) is None
    desk(tmp_path)
    assert sign_ins.caller(cookie) is None
    assert sign_ins.caller(owners) is not None
    ensure_api_key(tmp_path).write_text("another\n")
    assert sign_ins.caller(owners) is None


def test_nothing_in_it_can_be_changed(tmp_path: Path) -> None:
    sign_ins = SignIns(tmp_path)
    cookie = sign_ins.begin(desk(tmp_path))
    name, ends_at, identity, code = cookie.split(":")
    for forged in (
        f"owner:{ends_at}:{identity}:{code}",
        f"{name}:{int(ends_at) + 1}:{identity}:{code}",
        f"{name}:{ends_at}:0{identity}:{code}",
        f"{name}:{ends_at}:{identity}:{'0' * 64}",
        f"{name}:{ends_at}:{identity}:ä",
        f"{name}:{ends_at}:{identity}",
        f"{cookie}:",
    ):
        assert sign_ins.caller(forged) is None, forged
    assert SignIns(tmp_path / "another").caller(cookie) is None


@pytest.mark.parametrize("cookie", [None, "", ":::", "x", "a:b:c:d"])
def test_what_is_no_cookie_of_ours_is_nobody(tmp_path: Path, cookie: str | None) -> None:
    sign_ins = SignIns(tmp_path)
    sign_ins.end(cookie)
    assert sign_ins.caller(cookie) is None


def test_it_ends_by_itself(tmp_path: Path) -> None:
    key, sign_ins = desk(tmp_path), SignIns(tmp_path)
    said = f"desk:{wall_now() - 1}:0123"
    assert sign_ins.caller(f"{said}:{sign_ins._signature(said, key)}") is None
    said = f"desk:{wall_now() + 60_000_000}:0123"
    assert sign_ins.caller(f"{said}:{sign_ins._signature(said, key)}") is not None


def test_who_listens_by_it_is_cut_off_at_its_end(tmp_path: Path) -> None:
    access = Access(session_of(tmp_path))
    caller = access.sign_ins.caller(access.sign_ins.begin(desk(tmp_path)))
    assert caller is not None
    assert caller.until is not None
    assert abs(caller.until - wall_now() - SIGN_IN_SECONDS * MICROSECONDS) < 60 * MICROSECONDS
    assert access.still_holds(caller)
    assert not access.still_holds(replace(caller, until=wall_now()))
