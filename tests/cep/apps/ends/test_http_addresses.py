"""Which addresses of HTTP may be asked, and what a name may not lead to."""

import pytest

from cep.apps.ends.http_addresses import is_forbidden, is_literal, mapped_url, redirect_target, url_problem

ADDRESSES = {"https://api.example.com": "http://127.0.0.1:8080/base", "https://b.example.com": "https://b.example.com"}
NEAR = {
    "https://a.example": "http://10.0.0.7:80",
    "https://b.example": "http://10.0.0.7:8080",
    "https://c.example": "http://10.0.0.7:80/c",
}


@pytest.mark.parametrize(
    ("url", "is_right"),
    [
        ("https://api.example.com", True),
        ("https://api.example.com/a?b=c%20d", True),
        ("https://api.example.com/a/../b", False),
        ("https://api.example.com/%2e%2e/b", False),
        ("https://api.example.com/{{a}}", False),
        ("https://user@api.example.com/", False),
        ("https://api.example.com\\@evil.example/", False),
        ("ftp://api.example.com/", False),
        ("https://api.example.com/a b", False),
        ("https://[::1]/", False),
    ],
)
def test_addresses_that_can_be_asked(url: str, is_right: bool) -> None:
    assert (url_problem(url) is None) == is_right


def test_a_request_goes_where_the_operator_says() -> None:
    assert mapped_url("https://api.example.com/x?y=1", ADDRESSES) == "http://127.0.0.1:8080/base/x?y=1"
    assert mapped_url("https://API.example.com/x", {"https://api.example.com": "http://h"}) == "http://h/x"
    with pytest.raises(ValueError, match=r"requests to https://evil\.example are not allowed here"):
        mapped_url("https://evil.example/secret", ADDRESSES)


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("/base/next", "http://127.0.0.1:8080/base/next"),
        ("https://api.example.com/next", "http://127.0.0.1:8080/base/next"),
        ("https://b.example.com/next", "https://b.example.com/next"),
        ("/outside", None),
        ("http://127.0.0.1:8081/base/next", None),
        ("https://b.example.com.evil.example/", None),
        ("//evil.example/base/", None),
        ("http://169.254.169.254/latest/meta-data/", None),
        ("/base/%2e%2e/other", None),
        ("file:///etc/passwd", None),
    ],
)
def test_redirects_lead_where_the_operator_allows(location: str, found: str | None) -> None:
    asked = "http://127.0.0.1:8080/base/x"
    if found is not None:
        assert redirect_target(asked, location, ADDRESSES)[1] == found
    else:
        with pytest.raises(ValueError, match="the redirect leads to"):
            redirect_target(asked, location, ADDRESSES)


@pytest.mark.parametrize(
    ("location", "origin"),
    [
        ("http://10.0.0.7:8080/x", "https://b.example"),
        ("http://10.0.0.7:80/x", "https://a.example"),
        ("http://10.0.0.7:80/c/x", "https://c.example"),
        ("http://10.0.0.7:80/cd", "https://a.example"),
        ("https://b.example/x", "https://b.example"),
    ],
)
def test_a_redirect_is_known_by_the_origin_that_it_leads_to(location: str, origin: str) -> None:
    assert redirect_target("http://10.0.0.7:80/a", location, NEAR)[0] == origin


@pytest.mark.parametrize(
    ("address", "forbidden"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("0.0.0.0", True),
        ("0.1.2.3", True),
        ("169.254.169.254", True),
        ("224.0.0.1", True),
        ("::1", True),
        ("::", True),
        ("fe80::1%eth0", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:169.254.169.254", True),
        ("64:ff9b::7f00:1", True),
        ("2002:7f00:1::", True),
        ("fd00:ec2::254", True),
        ("168.63.129.16", True),
        ("::ffff:100.100.100.200", True),
        ("no address", True),
        ("10.1.2.3", False),
        ("93.184.216.34", False),
        ("2606:2800:220:1::", False),
    ],
)
def test_a_name_may_not_lead_to_this_machine_or_its_link(address: str, forbidden: bool) -> None:
    assert is_forbidden(address) == forbidden


@pytest.mark.parametrize(
    ("url", "literal"),
    [("http://127.0.0.1:80/a", True), ("http://localhost", True), ("http://a.example", False), ("http://10.1", False)],
)
def test_addresses_by_number_are_meant(url: str, literal: bool) -> None:
    assert is_literal(url) == literal
