"""What channels of Discord and Slack get: text that stays text."""

import pytest

from notices.channels.chat_webhook import DISCORD_CHARACTERS, ChatSender, chat_document, discord_text
from notices.channels.secrets import ChatSecrets
from notices.messages import NoticeMessage
from store.records.notice import Notice
from tests.notices.receivers import receiving
from tests.notices.samples import AT, alarm, message


def saying(line: str) -> NoticeMessage:
    return message(Notice("alert:1:began", "alerts", "alert_began", AT, line))


async def test_discord_gets_content_that_mentions_nobody() -> None:
    async with receiving() as receiver:
        sender = ChatSender(ChatSecrets("discord", f"{receiver.url}/api/webhooks/1/key"))
        await sender.send(saying("ALERT @everyone: feed_age *above* 10"))
        await sender.close()
    (got,) = receiver.received
    assert (got.path, got.headers["Content-Type"]) == ("/api/webhooks/1/key", "application/json")
    assert got.document == {
        "content": "PAPER 22:13:20 UTC ALERT @everyone: feed\\_age \\*above\\* 10",
        "allowed_mentions": {"parse": []},
    }


def test_slack_gets_text_whose_signs_are_no_links() -> None:
    document = chat_document("slack", saying("a & b < c > <!channel>"))
    assert document["text"] == "PAPER 22:13:20 UTC a &amp; b &lt; c &gt; &lt;!channel&gt;"
    assert document["mrkdwn"] is False


@pytest.mark.parametrize("text", ["short", "_" * 5_000, "x" * 5_000, "a_" * 1_500, "\\" * 1_001])
def test_discord_takes_so_many_characters_with_what_is_escaped(text: str) -> None:
    sent = discord_text(text)
    assert len(sent) <= DISCORD_CHARACTERS
    assert sent.replace("\\_", "_").replace("\\\\", "\\")[:900] == text[: min(900, len(text))]
    assert (len(sent) > DISCORD_CHARACTERS - 4) == (len(text) > 1_000)


def test_many_lines_are_one_message() -> None:
    document = chat_document("discord", message(alarm(1), alarm(2)))
    assert str(document["content"]).count("\n") == 2
