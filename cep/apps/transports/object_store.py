"""A bucket of S3. Its library is imported when a client is made, and works in threads."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cep.apps.transports.ports import NotTakenError, RowsRefusedError

ATTEMPT_SECONDS = 20
MOST_OBJECTS = 10_000
OF_THE_LOGIN = frozenset((401, 403, 404, 408, 409, 429))
"""Statuses that say nothing about the object: another login, a bucket that is made or a while later help."""


@dataclass(frozen=True, slots=True)
class BucketTerms:
    """`region`: None for the first of Amazon's. `user`, `password`: a key's id and the key. `ca`: a file with the
    server's authority, None for the machine's."""

    bucket: str
    endpoint: str
    region: str | None
    user: str
    password: str
    ca: str | None = None


@dataclass(frozen=True, slots=True)
class ObjectName:
    """`mark`: another one whenever the object is."""

    key: str
    mark: str
    size: int


class ObjectBucket:
    """All methods raise NotTakenError and RowsRefusedError."""

    def __init__(self, terms: BucketTerms) -> None:
        self._terms = terms
        self._client: Any = None

    async def put(self, key: str, body: bytes, media_type: str, storage_class: str) -> None:
        """Return once the object is there, in place of the one with its key."""
        options = {"StorageClass": storage_class} if storage_class else {}
        await self._asked(
            "put_object", Bucket=self._terms.bucket, Key=key, Body=body, ContentType=media_type, **options
        )

    async def get(self, key: str, most: int) -> bytes:
        """Return what the object has, at most one byte more than `most`."""

        def read() -> bytes:
            found = self._made().get_object(Bucket=self._terms.bucket, Key=key)
            with found["Body"] as body:
                return bytes(body.read(most + 1))

        return bytes(await self._translated(read))

    async def names(self, prefix: str) -> list[ObjectName]:
        """Return the objects below the prefix, the oldest first."""

        def read() -> list[Any]:
            pages = self._made().get_paginator("list_objects_v2").paginate(Bucket=self._terms.bucket, Prefix=prefix)
            return list(_listed(pages))

        found = await self._translated(read)
        if len(found) > MOST_OBJECTS:
            raise RowsRefusedError(
                f"there are more than {MOST_OBJECTS:,} objects below {prefix!r}; name a longer prefix"
            )
        found.sort(key=lambda one: (one["LastModified"], one["Key"]))
        return [ObjectName(one["Key"], str(one["ETag"]).strip('"'), int(one["Size"])) for one in found]

    async def _asked(self, operation: str, **arguments: Any) -> Any:
        return await self._translated(lambda: getattr(self._made(), operation)(**arguments))

    async def _translated(self, call: Any) -> Any:
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return await asyncio.to_thread(call)
        except ClientError as error:
            status = int(error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))
            reason = f"the bucket answers {status} ({error.response.get('Error', {}).get('Code', '?')})"
            if status >= 500 or status in OF_THE_LOGIN:
                raise NotTakenError(reason, is_of_server=True) from None
            raise RowsRefusedError(reason) from None
        except (BotoCoreError, OSError) as error:
            # its text names the address, and no secret
            raise NotTakenError(str(error), is_of_server=True) from None

    def _made(self) -> Any:
        if self._client is None:
            import boto3
            from botocore.config import Config

            terms = self._terms
            self._client = boto3.client(
                "s3",
                endpoint_url=terms.endpoint,
                region_name=terms.region or "us-east-1",
                aws_access_key_id=terms.user,
                aws_secret_access_key=terms.password,
                verify=terms.ca,
                config=Config(
                    connect_timeout=ATTEMPT_SECONDS,
                    read_timeout=ATTEMPT_SECONDS,
                    # who sends tries again by himself
                    retries={"total_max_attempts": 1},
                    s3={"addressing_style": "path"},
                ),
            )
        return self._client


def _listed(pages: Any) -> Iterator[Any]:
    count = 0
    for page in pages:
        for one in page.get("Contents", ()):
            yield one
            count += 1
        if count > MOST_OBJECTS:
            return
