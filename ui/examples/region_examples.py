"""Example answers about regions, for the OpenAPI document."""

from ui.rows.region import MemberRow, RegionLinkRow, RegionRow, RegionsRow

NOW = 1_763_741_299_000_000
LINKS = [
    RegionLinkRow(source="us", target="jp", delay_ms=75.0, loss_percent=0.0, is_cut=True),
    RegionLinkRow(source="jp", target="us", delay_ms=75.0, loss_percent=0.0, is_cut=True),
]
REGIONS = RegionsRow(
    now=NOW,
    region="us",
    leader="us",
    leader_since=NOW - 640_000_000,
    primary_lost_since=None,
    store_age=None,
    mirror_lags={"jp": 17.2},
    regions=[
        RegionRow(
            name="us",
            is_own=True,
            is_leader=True,
            exchanges=["kraken", "coinbase"],
            member=MemberRow(
                address="198.18.0.11:27017",
                role="primary",
                since=NOW - 640_000_000,
                last_write=NOW // 1_000_000 * 1_000_000,
                behind=0.0,
            ),
            mirror_lag=None,
            in_flight=1,
            trades=57,
            clock_ahead_ms=0.0,
        ),
        RegionRow(
            name="jp",
            is_own=False,
            is_leader=False,
            exchanges=["bitflyer"],
            member=MemberRow(
                address="198.18.0.13:27017",
                role="unreachable",
                since=NOW - 14_800_000,
                last_write=NOW - 17_000_000,
                behind=None,
            ),
            mirror_lag=17.2,
            in_flight=1,
            trades=21,
            clock_ahead_ms=0.0,
        ),
    ],
    links=LINKS,
    links_unknown=None,
)
