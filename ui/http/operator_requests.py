"""Recognises operators by a request's headers: a flood of strangers must leave room for the kill switch."""

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers

from ui.auth.access_service import Access
from ui.auth.callers import Caller
from ui.auth.sign_ins import COOKIE


def operator_of(access: Access, headers: Headers) -> Caller | None:
    """Return the operator who sent the request, by key or cookie; an issuer's token does not count here, since checking
    it may need the issuer."""
    key = key_in(headers)
    caller = access.by_key(key) if key else access.sign_ins.caller(cookie_of(headers))
    return caller if caller is not None and caller.may_change else None


def key_in(headers: Headers) -> str:
    """Return the key or token that a program sends; empty if it sends none."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    return headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")


def cookie_of(headers: Headers) -> str | None:
    """Return the sign-in cookie; other cookies may be malformed."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            try:
                cookie = SimpleCookie(f"{name}={value}").get(COOKIE)
            except CookieError:
                return None
            return cookie.value if cookie is not None else None
    return None
