"""The versions of the settings as rows: who changed what, and when."""

from typing_extensions import TypedDict

from store.server.documents import SettingsVersion


class ChangeRow(TypedDict):
    """One setting before and after, as JSON values; `before` None in the first version."""

    field: str
    before: object
    after: object


class VersionRow(TypedDict):
    """Who changed which settings when."""

    version: int
    changed_at: int
    who: str
    changes: list[ChangeRow]


def version_row(version: SettingsVersion) -> VersionRow:
    """Return the row, with only what differs from the version before; nothing for the first."""
    after = version.after.model_dump(mode="json", exclude={"version"})
    before = version.before.model_dump(mode="json") if version.before else after
    return VersionRow(
        version=version.after.version,
        changed_at=version.at,
        who=version.who,
        changes=[
            ChangeRow(field=name, before=before[name], after=value)
            for name, value in after.items()
            if value != before[name]
        ],
    )
