"""`[disk]`: how much room the data folder's disk must have."""

from pydantic import BaseModel, ConfigDict, Field, model_validator

from runtime.disk_space import MEGABYTE
from session.disk_bounds import DiskBounds

_MOST_MB = 1_000_000_000


class DiskConfiguration(BaseModel):
    """Bounds in megabytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    warn_mb: int = Field(default=DiskBounds().warn // MEGABYTE, ge=1, le=_MOST_MB)
    """Below it Health and a notice warn."""
    reduce_mb: int = Field(default=DiskBounds().reduce // MEGABYTE, ge=1, le=_MOST_MB)
    """Below it nothing new is traded."""
    stop_mb: int = Field(default=DiskBounds().stop // MEGABYTE, ge=1, le=_MOST_MB)
    """Below it the session ends in good order, before MongoDB has no room."""

    @model_validator(mode="after")
    def _in_order(self) -> "DiskConfiguration":
        if not self.stop_mb <= self.reduce_mb <= self.warn_mb:
            raise ValueError("stop_mb must not be above reduce_mb, nor that above warn_mb")
        return self

    @property
    def bounds(self) -> DiskBounds:
        return DiskBounds(self.warn_mb * MEGABYTE, self.reduce_mb * MEGABYTE, self.stop_mb * MEGABYTE)
