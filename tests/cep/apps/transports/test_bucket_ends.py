"""Objects of a bucket on a real server of S3's protocol."""

import asyncio
import importlib.util
import io
from collections.abc import Iterator
from typing import Any

import pyarrow.parquet as pq
import pytest

from cep.apps.ends.sink_ends import BucketTarget
from cep.apps.ends.source_ends import BucketObjects
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.bucket_ends import BucketReceiver, BucketSender
from cep.apps.transports.object_store import BucketTerms, ObjectBucket
from cep.apps.transports.parquet_rows import parquet_file
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError
from streams.errors import StreamUnavailableError
from tests.cep.apps.transports.ends import sink_of, source_of
from tests.cep.apps.transports.kept_rows import KeptRows, PlaceInMemory
from tests.cep.apps.transports.s3_server import PROGRAM, s3_server

needs_server = pytest.mark.skipif(
    importlib.util.find_spec("boto3") is None or PROGRAM is None,
    reason="the extra s3, or moto's server, is not installed here",
)
ROWS = [OutgoingRow(f"app:0:{n}:0", 1_000 * n, {"symbol": "BTC", "n": n, "place": "eu"}) for n in range(5)]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        yield address


def client_of(endpoint: str) -> Any:
    import boto3

    return boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id="me", aws_secret_access_key="word", region_name="us-east-1"
    )


@pytest.fixture
def client(endpoint: str) -> Any:
    made = client_of(endpoint)
    made.create_bucket(Bucket="exports")
    for one in made.list_objects_v2(Bucket="exports").get("Contents", ()):
        made.delete_object(Bucket="exports", Key=one["Key"])
    return made


def terms(endpoint: str) -> BucketTerms:
    return BucketTerms("exports", endpoint, None, "me", "word")


def sender(endpoint: str, options: str) -> BucketSender:
    sink = sink_of(f"type = 's3', bucket.name = 'exports', {options}")
    assert isinstance(sink.target, BucketTarget)
    return BucketSender(sink.target, sink.writer, sink.columns, terms(endpoint), ("rows/#",))


def objects(client: Any) -> dict[str, bytes]:
    found = client.list_objects_v2(Bucket="exports").get("Contents", ())
    return {one["Key"]: client.get_object(Bucket="exports", Key=one["Key"])["Body"].read() for one in found}


@needs_server
async def test_rows_are_lines_of_an_object_that_comes_again_as_itself(endpoint: str, client: Any) -> None:
    sent = sender(endpoint, "object.path = 'rows/{{place}}', flush.size = '3', @map(type = 'json')")
    assert (sent.most_rows, sent.linger_seconds) == (3, 60.0)
    where = sent.destination(ROWS[0].values)
    await sent.send(where, ROWS[:2])
    # a killed process may have put it, and more rows are here now
    await sent.send(where, ROWS[:3])
    await sent.send(where, ROWS[3:])
    found = objects(client)
    assert list(found) == ["rows/eu/app-0-0-0.jsonl", "rows/eu/app-0-3-0.jsonl"]
    assert [len(body.splitlines()) for body in found.values()] == [3, 2]


@needs_server
async def test_a_bucket_that_is_not_there_is_waited_for(endpoint: str) -> None:
    sent = sender(endpoint, "object.path = 'rows'")
    missing = BucketSender(sent._target, sent._writer, (), BucketTerms("missing", endpoint, None, "me", "word"), ("#",))
    with pytest.raises(NotTakenError, match=r"the bucket answers 404 \(NoSuchBucket\)"):
        await missing.send("rows", ROWS)
    away = BucketTerms("exports", "http://127.0.0.1:9", None, "me", "word")
    with pytest.raises(NotTakenError) as found:
        await ObjectBucket(away).names("rows/")
    assert "word" not in str(found.value)


@needs_server
async def test_objects_come_once_each_and_again_if_they_are_not_kept(endpoint: str, client: Any) -> None:
    source = source_of(
        "type = 's3', bucket.name = 'exports', object.prefix = 'in', polling.interval.ms = '20', @map(type = 'json')"
    )
    assert isinstance(source.origin, BucketObjects)
    kept, place = KeptRows(fails=1), PlaceInMemory()
    client.put_object(Bucket="exports", Key="in/a.jsonl", Body=b"1\n2\n\n3")
    for other in ("other/b.jsonl", "in-keys/b.jsonl", "inner.jsonl"):
        client.put_object(Bucket="exports", Key=other, Body=b"none")

    def receiver() -> BucketReceiver:
        assert isinstance(source.origin, BucketObjects)
        return BucketReceiver(source.origin, source.reader, ObjectBucket(terms(endpoint)), place, CountedWarnings({}))

    with pytest.raises(StreamUnavailableError):
        await receiver().run(kept)
    task = asyncio.create_task(receiver().run(kept))
    assert await kept.until(3) == ["1", "2", "3"]
    client.put_object(Bucket="exports", Key="in/c.jsonl", Body=b"4")
    assert await kept.until(4) == ["1", "2", "3", "4"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    # another run knows them, and one that was replaced is another one
    client.put_object(Bucket="exports", Key="in/c.jsonl", Body=b"5")
    task = asyncio.create_task(receiver().run(kept))
    assert await kept.until(5) == ["1", "2", "3", "4", "5"]
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert kept.messages[-1].properties == {"bucket": "exports", "key": "in/c.jsonl"}


@pytest.mark.parametrize(
    ("place", "path"), [("eu", "rows/eu"), ("../x", "rows/-x"), ("a/b", "rows/a-b"), ("..", "rows/-"), ("é", "rows/-")]
)
def test_a_row_is_in_one_part_of_the_path_alone(place: str, path: str) -> None:
    sent = sender("http://127.0.0.1:9", "object.path = 'rows/{{place}}'")
    assert sent.destination({"place": place}) == path
    with pytest.raises(RowsRefusedError):
        sender("http://127.0.0.1:9", "object.path = '{{place}}/rows'").destination({"place": place})


def test_parquet_has_the_types_of_the_stream() -> None:
    columns = (("symbol", "string"), ("n", "int"), ("price", "double"), ("is_new", "bool"), ("sum", "decimal"))
    rows = [
        OutgoingRow("a:1", 1_500, {"symbol": "BTC", "n": 1, "price": 1.5, "is_new": True, "sum": "0.1"}),
        OutgoingRow("a:2", 1_501, {"symbol": None, "n": None, "price": None, "is_new": None, "sum": None}),
    ]
    table = pq.read_table(io.BytesIO(parquet_file(columns, rows)))  # type: ignore[arg-type]
    assert table.schema.names == ["row_id", "row_time", "symbol", "n", "price", "is_new", "sum"]
    assert [str(one) for one in table.schema.types[1:]] == [
        "timestamp[ms, tz=UTC]",
        "string",
        "int32",
        "double",
        "bool",
        "string",
    ]
    assert table.column("n").to_pylist() == [1, None]
    assert table.column("sum").to_pylist() == ["0.1", None]
    with pytest.raises(ValueError, match="does not fit its column"):
        parquet_file((("n", "int"),), [OutgoingRow("a", 1, {"n": 2**40})])
