"""What a user may configure before a start: an optional TOML file, read once and frozen."""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from launch.errors import CannotStartError


class Configuration(BaseModel):
    """Addresses, exchanges and the first settings. Empty addresses mean: start our own."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kafka: str | None = Field(default=None, pattern=r"^[^\s:]+:\d+(,[^\s:]+:\d+)*$")
    """host:port of a Kafka to use instead of the embedded one."""
    mongodb: str | None = Field(default=None, pattern=r"^mongodb(\+srv)?://\S+$")
    """URI of a MongoDB replica set to use instead of the embedded one."""
    exchanges: tuple[str, ...] = ()
    """Which exchanges take part; none named means all."""
    port: int = Field(default=8000, ge=1, le=65_535)
    seed: int = 1
    partitions: int = Field(default=1, ge=1, le=64)
    settings: dict[str, Any] = Field(default_factory=dict)
    """First values of the tunable settings; later ones are changed through REST."""


def read_configuration(path: Path | None) -> Configuration:
    """The file's configuration, or the defaults where none is named and `arbitrage.toml` is not there.

    Raises CannotStartError in one sentence.
    """
    if path is None:
        path = Path("arbitrage.toml")
        if not path.exists():
            return Configuration()
    try:
        return Configuration.model_validate(tomllib.loads(path.read_text()))
    except OSError as error:
        raise CannotStartError(f"{path}: cannot be read ({error.strerror}); name a readable TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotStartError(f"{path}: is not valid TOML ({error}); correct that place.") from error
    except ValidationError as error:
        raise CannotStartError(f"{path}: {explained(error)}.") from error


def explained(error: ValidationError) -> str:
    """All faults of a document in one line: where, and what is wrong there."""
    return "; ".join(
        f"{'.'.join(str(part) for part in fault['loc']) or 'the document'}: {fault['msg']}" for fault in error.errors()
    )
