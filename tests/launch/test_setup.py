"""What setting up says of what it could not do."""

import pytest

from cep.errors import CepStoppedError
from launch.errors import LaunchError
from launch.setup import without_archive


@pytest.mark.parametrize(
    "error", [CepStoppedError("the JVM wrote no archive of its classes"), LaunchError("not ready within 60 s: kafka.")]
)
def test_a_missing_archive_comes_with_advice(error: Exception) -> None:
    told = without_archive(error)
    assert str(error) in told
    assert ".." not in told
    assert "`make setup` again" in told
