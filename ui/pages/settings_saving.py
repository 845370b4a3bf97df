"""The settings form's one call of the service that REST uses, and its outcome in words."""

from collections.abc import Mapping

from market.settings import Settings
from store.errors import StoreError, VersionConflictError
from ui.dashboard import Dashboard
from ui.pages.acting import Outcome, acted
from ui.pages.settings_changes import WHOLE, problems_of
from ui.pages.settings_merge import carried_changes, clashing_fields, conflict_words
from ui.tuning import SettingsInvalidError, SettingsMissingError, change_settings, newest_settings


def save_form(dashboard: Dashboard, shown: Settings, changes: Mapping[str, object]) -> Outcome[Settings]:
    """Make these changes to the version that was shown, on top of what others changed since where that is other
    fields; the outcome has the settings in force then.
    """
    if not changes:
        return Outcome(True, "Nothing was changed.")
    try:
        newest = dashboard.answer(newest_settings(dashboard))
    except (StoreError, TimeoutError):
        return Outcome(False, "Not saved: MongoDB does not answer. Try again in a moment.")
    if newest is None:
        return Outcome(False, "Not saved: there are no settings yet.")
    if clashes := clashing_fields(shown, newest, changes):
        words = conflict_words(dashboard, shown, newest, clashes)
        return Outcome(False, f"Not saved: {words} Choose below what becomes of it.")
    return _save(dashboard, newest, carried_changes(shown, newest, changes))


def _save(dashboard: Dashboard, newest: Settings, changes: Mapping[str, object]) -> Outcome[Settings]:
    session = dashboard.session
    wrong = problems_of(newest, changes, session.exchanges, session.settlement_currency)
    if wrong:
        return Outcome(False, f"Not saved: {wrong.get(WHOLE, 'see what is said at the fields.')}")
    try:
        return acted(
            dashboard,
            ("settings.change", "settings"),
            lambda caller: change_settings(dashboard, changes, newest.version, caller),
            lambda saved: f"Saved as version {saved.version}.",
        )
    except VersionConflictError as conflict:
        words = f"Not saved: somebody else saved version {conflict.current} at the same moment."
        return Outcome(False, f"{words} What you typed is kept; save again.")
    except SettingsInvalidError as invalid:
        why = "; ".join(f"{problem['field']}: {problem['why']}" for problem in invalid.errors)
        return Outcome(False, f"Not saved. {why}.")
    except SettingsMissingError:
        return Outcome(False, "Not saved: there are no settings yet.")
