"""What an app waits for, and what is a fault that it must not wait for without end."""

from launch.published.host import PASSING
from launch.sessions.detection_start import NotBegunError


def test_an_app_waits_for_detection_and_not_for_what_never_comes() -> None:
    assert issubclass(NotBegunError, PASSING)
    assert not issubclass(KeyError, PASSING)
