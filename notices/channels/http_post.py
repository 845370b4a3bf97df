"""One JSON document by POST, and what the answer's status means. It follows no redirects and reads no answer's body."""

from collections.abc import Mapping

import aiohttp

from notices.channels.http_errors import check_answer, seconds_to_wait
from notices.errors import DestinationRejectedError, DestinationUnavailableError


class HttpPost:
    """Connections of one destination."""

    def __init__(self, answer_seconds: float) -> None:
        self._seconds = answer_seconds
        self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=answer_seconds))

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Return once it was accepted. Raises DestinationUnavailableError, DestinationRejectedError."""
        sent = {"Content-Type": "application/json", **headers}
        try:
            async with self._http.post(url, data=body, headers=sent, allow_redirects=False) as answer:
                status, asked = answer.status, seconds_to_wait(answer.headers.get("Retry-After"))
        except TimeoutError:
            raise DestinationUnavailableError(f"no answer within {self._seconds:g} s") from None
        except aiohttp.ClientConnectorCertificateError:
            raise DestinationUnavailableError("its certificate is not trusted") from None
        except aiohttp.ClientConnectorError:
            raise DestinationUnavailableError("connection failed") from None
        except (aiohttp.ClientError, OSError) as error:
            # the text of the error may hold the address, and with it a key
            raise DestinationUnavailableError(f"the connection broke ({type(error).__name__})") from None
        except ValueError:
            raise DestinationRejectedError("its address cannot be used") from None
        check_answer(status, asked)

    async def close(self) -> None:
        await self._http.close()
