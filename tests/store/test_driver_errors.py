"""Which of the driver's errors a later call may not meet again."""

import pytest
from pymongo.errors import AutoReconnect, DuplicateKeyError, OperationFailure, PyMongoError

from store.errors import StoreError, StoreUnavailableError
from store.server.client import KEY_NOT_FOUND, is_passing, translated_errors


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (AutoReconnect("gone"), True),
        # of a member that has just started
        (OperationFailure("No keys found for HMAC", KEY_NOT_FOUND), True),
        (OperationFailure("not authorized", 13), False),
        (DuplicateKeyError("there already", 11_000), False),
    ],
)
def test_what_passes_is_tried_again_and_the_rest_is_said(error: PyMongoError, passes: bool) -> None:
    assert is_passing(error) is passes
    with pytest.raises(StoreError) as raised, translated_errors():
        raise error
    assert isinstance(raised.value, StoreUnavailableError) is passes
