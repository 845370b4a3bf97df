"""Who is let in while strangers hold all there is: an operator, by key or cookie, and nobody else."""

from pathlib import Path

from starlette.datastructures import Headers

from tests.ui.samples import session_of
from ui.auth.access_service import Access
from ui.auth.api_keys import digest_of, ensure_api_key, keys_folder, owner_key
from ui.auth.callers import Caller, Role, rate_name
from ui.auth.key_store import StoredKey, add_key
from ui.auth.sign_ins import COOKIE
from ui.http.operator_requests import operator_of


def test_an_operator_is_known_by_key_or_cookie_and_a_viewer_is_none(tmp_path: Path) -> None:
    access = Access(session_of(tmp_path, "mongodb://127.0.0.1", "none"))
    key = ensure_api_key(access.home).read_text().strip()
    viewers = _given(access, "desk", "viewer")
    _given(access, "night", "operator")
    cookie = access.sign_ins.begin(owner_key(access.home))
    heads = [
        ({"X-API-Key": key}, "owner"),
        ({"Authorization": f"Bearer {key}"}, "owner"),
        ({"Cookie": f"other=1; {COOKIE}={cookie}"}, "owner"),
        ({"X-API-Key": "key of night"}, "night"),
        ({"X-API-Key": "key of desk"}, None),
        ({"X-API-Key": "wrong"}, None),
        ({"Cookie": f"{COOKIE}={access.sign_ins.begin(viewers)}"}, None),
        ({"Cookie": f"{COOKIE}={cookie}0"}, None),
        ({}, None),
    ]
    found = [operator_of(access, Headers(headers)) for headers, _ in heads]
    assert [caller and caller.name for caller in found] == [name for _, name in heads]


def test_who_has_many_addresses_has_one_bucket(tmp_path: Path) -> None:
    names = {rate_name(Caller("anybody", "viewer", "open", host)) for host in ("127.0.0.1", "127.0.0.2", "::1")}
    assert len(names) == 1
    access = Access(session_of(tmp_path, "mongodb://127.0.0.1", "none"))
    waits = [access.count_wrong_key(f"127.0.0.{last}") for last in range(1, 12)]
    assert waits[0] == 0 < waits[-1], "ten wrong keys are all there are, of whatever address"


def _given(access: Access, name: str, role: Role) -> StoredKey:
    key = StoredKey(name, role, 1, digest_of(f"key of {name}"))
    add_key(keys_folder(access.home), key)
    return key
