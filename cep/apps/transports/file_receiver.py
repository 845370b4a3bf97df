"""Receives lines or whole files of a folder, and remembers how far each was read."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from cep.apps.transports.ports import Intake, NotTakenError
from cep.apps.transports.tailed_folder import TailedFolder, places_as_json, places_from_json
from runtime.clock import SystemClock


class SourcePlace(Protocol):
    """Where a source goes on, kept through restarts."""

    def load(self) -> Any:
        """Return what was saved last; None if that is nothing, or cannot be read."""
        ...

    def save(self, place: Any) -> None: ...


@dataclass(slots=True)
class FileReceiver:
    """A `Receiver`. `seconds`: between two looks."""

    folder: TailedFolder
    place: SourcePlace
    seconds: float

    async def run(self, intake: Intake) -> None:
        kept = self.place.load()
        try:
            self.folder.places = () if kept is None else places_from_json(kept)
        except (ValueError, TypeError):
            # rows are read again, which is better than none
            self.folder.places = ()
        while True:
            try:
                step = await asyncio.to_thread(self.folder.step)
            except OSError as error:
                raise NotTakenError(f"the folder cannot be read ({error.strerror or error})") from None
            if step.messages:
                await intake.take(step.messages)
            if step.places != self.folder.places:
                self.place.save(places_as_json(step.places))
                self.folder.places = step.places
            if not step.is_more:
                await SystemClock().sleep(self.seconds)
