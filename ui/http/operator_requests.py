"""Who is an operator, by a request's head alone: a flood of strangers must leave room for the kill switch."""

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers

from session.roles import Caller
from ui.auth.access_service import Access
from ui.auth.sign_ins import COOKIE


def operator_of(access: Access, headers: Headers) -> Caller | None:
    """By a key or a cookie; not by an issuer's token, which would have to be asked about."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    key = headers.get("x-api-key") or (bearer.strip() if scheme.lower() == "bearer" else "")
    caller = access.by_key(key) if key else access.sign_ins.caller(cookie_of(headers))
    return caller if caller is not None and caller.may_change else None


def cookie_of(headers: Headers) -> str | None:
    """One of them that cannot be read makes none of them unreadable."""
    for part in headers.get("cookie", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            try:
                cookie = SimpleCookie(f"{name}={value}").get(COOKIE)
            except CookieError:
                return None
            return cookie.value if cookie is not None else None
    return None
