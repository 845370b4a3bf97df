"""ccxt has what the suite expects, and no address is left that leads to a real exchange."""

from urllib.parse import urlsplit

from exchanges.addresses import every_address
from tests.simulators.contract.abilities import ABILITIES, TRIED, everywhere
from tests.simulators.contract.bench import Bench


@everywhere
async def test_ccxt_has_what_the_suite_expects_and_no_more(bench: Bench) -> None:
    has = tuple(name for name in TRIED if bench.client.has.get(name))
    assert sorted(has) == sorted(ABILITIES[bench.market.exchange])


@everywhere
async def test_every_address_is_the_simulated_ones(bench: Bench) -> None:
    base = urlsplit(bench.outside.url)
    for address in every_address(bench.client.urls["api"]):
        parts = urlsplit(address)
        assert parts.netloc == base.netloc
        assert parts.path.startswith(f"/{bench.market.exchange}")
