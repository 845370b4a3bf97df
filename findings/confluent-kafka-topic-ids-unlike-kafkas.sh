#!/usr/bin/env bash
# confluent-kafka 2.16.1: the id of a topic is another text than in Kafka's own tools, and may have a slash.
# Kafka writes ids in the base64 of URLs and file names (org.apache.kafka.common.Uuid.toString: "-" and "_"; so does
# kafka-topics.sh --describe, and meta.properties). `str()` of the client's Uuid, which `describe_topics` gives as
# `topic_id`, has the other alphabet, "+" and "/". So the two do not compare equal for about half of all topics, and a
# file or a key that is named by the client's text is cut at the slash of about three in ten.
# Expected output: the client ++++/////+++////+++//w, Kafka ----_____---____---__w (same 16 bytes)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" -q install confluent-kafka==2.16.1
"$folder/venv/bin/python" - <<'PY'
from base64 import b64decode, urlsafe_b64encode

from confluent_kafka import Uuid

raw = b64decode("++++/////+++////+++//w==")
most, least = (int.from_bytes(raw[at : at + 8], "big", signed=True) for at in (0, 8))
client = str(Uuid(most, least))
# as Kafka's Uuid.toString: URL-safe, without padding
kafka = urlsafe_b64encode(raw).decode().rstrip("=")
print(f"the client {client}, Kafka {kafka} (same 16 bytes)")
assert client == "++++/////+++////+++//w", client
assert kafka == "----_____---____---__w", kafka
PY
