"""`@App:host`: what fits the structured host, and if what does not fit stands."""

import pytest

from cep.apps.hosts.hosted_app import app_source
from cep.apps.language.errors import AppTextError, AppUnsupportedError
from cep.apps.language.expression_tree import Place
from tests.cep.apps.equality.app_logs import SHIPPED, hosted_text
from tests.cep.apps.equality.made_up_apps import BY_KEY

HEAD = "@App:host('structured')\n"
BLOCK = "partition with (base of quotes) begin {} end;"
"""One line, so that the place in it is the query's, 39 characters later."""
FITTING = (
    "from quotes#window.length(5) select base, avg(bid) as mean insert into Out;",
    "from quotes#window.time(1 sec) select base, avg(bid) as mean insert into Out;",
    "from quotes WINDOW SLIDING_TIME(1 sec) select base, avg(bid) as mean insert into Out;",
    "from quotes#window.lengthBatch(5) select base, max(bid) as most insert all events into Out;",
    "from quotes#window.unique:ever(exchange) select base, max(bid) as most insert into Out;",
    "from quotes#window.length(2) as a join quotes#window.length(3) as b on a.exchange == b.exchange "
    "select a.base as base insert into Out;",
    "from every a = quotes -> b = quotes[bid > a.bid] within 1 sec select b.bid as bid insert into Out;",
    "from every a = quotes -> not quotes[bid > a.bid] and b = quotes[bid < a.bid] select b.bid as bid insert into Out;",
    "from quotes select base, count() as n output last every 3 events insert into Out;",
    "from quotes#unique:deduplicate(exchange, 1 sec) select base, bid insert into Out;",
    "from quotes#reorder:kslack(exchange_time) select base, bid insert into Out;",
    "from quotes#window.length(9) select list:collect(bid) as bids, math:percentile(ask, 90) as high insert into Out;",
    "from every a = quotes -> (b = quotes[bid > a.bid] within 1 sec) select b.bid as bid insert into Out;",
    "from quotes select base, bid insert into #Inner; from #Inner select base, sum(bid) as total insert into Out;",
)


@pytest.mark.parametrize("query", FITTING)
def test_what_is_kept_by_key_and_gives_rows_with_rows_fits(query: str) -> None:
    assert app_source(HEAD + BLOCK.format(query), "a").host == "structured"


@pytest.mark.parametrize("text", BY_KEY)
def test_apps_of_several_streams_fit(text: str) -> None:
    assert app_source(hosted_text(text), "a").host == "structured"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("from quotes select base insert into Out;", Place(1, 1), "the app has no partition"),
        (BLOCK.format(FITTING[0]) + "\nfrom quotes#window.length(5) select bid insert into B;", Place(3, 1),
         "the query has a window in no partition"),
        (BLOCK.format(FITTING[0]) + "\nfrom quotes select count() as n insert into B;", Place(3, 1), "an aggregator"),
        (BLOCK.format(FITTING[0]) + "\nfrom quotes select bid having count() > 3 insert into B;", Place(3, 1),
         "an aggregator"),
        (BLOCK.format(FITTING[0]) + "\nfrom quotes select bid output last every 2 events insert into B;", Place(3, 1),
         "an output rate"),
        (BLOCK.format(FITTING[0]) + "\nfrom every a = quotes -> b = quotes select a.bid insert into B;", Place(3, 1),
         "a pattern"),
        ("define table T (base string);\n" + BLOCK.format(FITTING[0]), Place(2, 1), "the table 'T' is one for all"),
        ("define window W (base string) length(2);\n" + BLOCK.format(FITTING[0]), Place(2, 1), "the window 'W' is one"),
        ("define trigger T at every 5 sec;\n" + BLOCK.format(FITTING[0]), Place(2, 1), "the trigger 'T' is one"),
        (BLOCK.format("from ticks select base insert into Out;"), Place(2, 44), "ticks is not partitioned here"),
        (BLOCK.format("from quotes#window.timeBatch(1 sec) select base insert into Out;"), Place(2, 50),
         "the window timeBatch gives rows by the clock"),
        (BLOCK.format("from quotes#window.time(1 sec) select base insert all events into Out;"), Place(2, 50),
         "the window time with all or expired events gives rows by the clock"),
        (BLOCK.format("from quotes#window.time(1 sec) as a join quotes#window.length(3) as b "
                      "select a.bid insert into Out;"),
         Place(2, 50), "the window time in a join gives rows by the clock"),
        (BLOCK.format("from quotes#window.hopping(9 sec, 1 sec) select base insert into Out;"), Place(2, 50),
         "the window hopping gives rows by the clock"),
        (BLOCK.format("from quotes#reorder:kslack(exchange_time, 1 sec) select base insert into Out;"), Place(2, 50),
         "#reorder:kslack() with a time gives rows by the clock"),
        (BLOCK.format(FITTING[0]) + "\nfrom quotes#unique:deduplicate(base, 1 sec) select bid insert into B;",
         Place(3, 1), "the query has a function that keeps rows in no partition"),
        (BLOCK.format("from quotes#window.session(1 sec) select base insert into Out;"), Place(2, 50), "session"),
        (BLOCK.format("from every a = quotes -> not quotes for 1 sec select a.bid insert into Out;"), Place(2, 64),
         "an absence with a time gives rows by the clock"),
        (BLOCK.format("from quotes select bid output last every 1 sec insert into Out;"), Place(2, 62),
         "this output rate gives rows by the clock"),
        (BLOCK.format("from quotes select UUID() as id insert into Out;"), Place(2, 58), "UUID() counts over all keys"),
        ("@purge(enable = 'true', interval = '1 sec', idle.period = '1 sec')\n" + BLOCK.format(FITTING[0]), Place(2, 1),
         "@purge forgets keys by the clock"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_place(text: str, place: Place, problem: str) -> None:
    with pytest.raises(AppUnsupportedError) as error:
        app_source(HEAD + text, "a")
    assert problem in error.value.problem
    assert error.value.problem.endswith("see docs/apps/running.md for what fits")
    assert "\n" not in str(error.value)
    assert error.value.at == place
    # elsewhere it runs
    assert app_source(text, "a").host == "resident"


@pytest.mark.parametrize(
    ("annotation", "problem"),
    [
        (
            "@App:host('structurd')",
            "there is no host 'structurd'; there are resident and structured; did you mean 'str",
        ),
        ("@App:host()", "write @App:host('structured')"),
        ("@App:host('structured', 'resident')", "write @App:host('structured')"),
    ],
)
def test_a_host_that_is_not_there_is_refused(annotation: str, problem: str) -> None:
    with pytest.raises(AppTextError) as error:
        app_source(f"\n{annotation} {BLOCK.format(FITTING[0])}", "a")
    assert problem in error.value.problem
    assert error.value.at == Place(2, 1)


def test_of_the_shipped_apps_two_fit() -> None:
    def fits(text: str) -> bool:
        try:
            return app_source(HEAD + hosted_text(text), "a").host == "structured"
        except AppUnsupportedError:
            return False

    assert [path.stem for path in sorted(SHIPPED.glob("*.app")) if fits(path.read_text())] == [
        "payment-patterns",
        "unusual-price",
    ]
