"""The apps that the configuration publishes: `[apps] publish`."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from launch.apps.acting import check_may_act
from launch.apps.files import all_published_in
from launch.apps.published_texts import texts_of
from launch.config.apps import operator_terms
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from runtime.backoff import retry_on
from session.session import Session
from store.errors import LoginRefusedError, StoreError, StoreUnavailableError
from store.mongo.store import open_store
from store.ports.apps import StoredApps
from store.records.apps import NAME_ADVICE, is_app_name

AUTHOR = "configuration"
WAITS = (StoreUnavailableError, LoginRefusedError)
"""A new data folder's store refuses logins until its users are made."""

log = logging.getLogger("launch")


def check_configured(session: Session, config: Configuration) -> None:
    """Raise CannotStartError if one of the files cannot be published in the session."""
    terms = operator_terms(config.apps, config.plain_text_hosts)
    for source in all_published_in(config.apps.publish, texts_of(session, terms)):
        if not is_app_name(source.name):
            raise CannotStartError(f"[apps] publish: {source.name!r} is no name for a published app: {NAME_ADVICE}.")
        check_may_act(source, session.page.access.acting_apps)


@asynccontextmanager
async def publishing(session: Session, config: Configuration, echo: Callable[[str], None]) -> AsyncIterator[None]:
    """While it lasts, the configured apps are published, as soon as the store is there. `session`: the supervisor's."""
    terms = operator_terms(config.apps, config.plain_text_hosts)
    texts = {one.name: one.text for one in all_published_in(config.apps.publish, texts_of(session, terms))}

    async def publish() -> None:
        async with await open_store(session) as store:
            await publish_all(store.apps, texts, echo)

    task = asyncio.create_task(retry_on(publish, WAITS, lambda _: None)) if texts else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            (fault,) = await asyncio.gather(task, return_exceptions=True)
            if isinstance(fault, StoreError):
                log.warning("configured apps not published", extra={"error": str(fault)})


async def publish_all(apps: StoredApps, texts: Mapping[str, str], echo: Callable[[str], None]) -> None:
    """Publish each text under its name; one that cannot be stored is logged, and the others go on. Raises WAITS, after
    which all of it is to be tried again."""
    for name, text in texts.items():
        try:
            if await publish_configured(apps, name, text):
                echo(f"app {name}: published as [apps] publish says")
        except WAITS:
            raise
        except StoreError as error:
            # somebody changed it at this moment, and what people do stays; or the store refuses this text
            log.warning("configured app not published", extra={"app": name, "error": str(error)})


async def publish_configured(apps: StoredApps, name: str, text: str) -> bool:
    """Publish the text unless the configuration did so before: what people did since then stays. Returns whether it
    was published now. Raises StoreError.

    A text that is stored, and of which nobody has ordered anything since, lost its order to an outage and gets it now.
    """
    known = await apps.app(name)
    if known is None:
        await apps.create(name, text, AUTHOR)
    else:
        of_file = next((one for one in await apps.versions(name) if one.author == AUTHOR), None)
        if of_file is None or of_file.text != text:
            await apps.replace(name, text, known.version, AUTHOR)
        elif known.order.at >= of_file.at:
            return False
    await apps.order(name, "published", AUTHOR)
    return True
