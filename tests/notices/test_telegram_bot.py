"""What a chat gets."""

from dataclasses import replace
from urllib.parse import parse_qs

from hypothesis import given
from hypothesis import strategies as st

from notices.channels.secrets import TelegramSecrets
from notices.channels.telegram_bot import TelegramSender, telegram_text
from tests.notices.receivers import receiving
from tests.notices.samples import CHAT, TOKEN, message, trade

MOST = 4_096
"""core.telegram.org/bots/api#sendmessage, of the text once its marks are read."""


async def test_it_is_sent_as_html_without_previews() -> None:
    async with receiving() as receiver:
        sender = TelegramSender(receiver.url, TelegramSecrets(TOKEN, CHAT))
        await sender.send(message(replace(trade(1), line="<b>5 & 6</b> https://example.com")))
        await sender.close()
    (got,) = receiver.received
    form = {name: values[0] for name, values in parse_qs(got.body.decode()).items()}
    assert got.path == f"/bot{TOKEN}/sendMessage"
    assert form["chat_id"] == CHAT
    assert form["parse_mode"] == "HTML"
    assert form["text"] == "<b>PAPER</b> 22:13:21 UTC &lt;b&gt;5 &amp; 6&lt;/b&gt; https://example.com"
    assert form["link_preview_options"] == '{"is_disabled": true}'


@given(st.lists(st.text(st.characters(max_codepoint=0xFFFF), max_size=800), min_size=1, max_size=8))
def test_no_text_breaks_its_marks_or_is_too_long(lines: list[str]) -> None:
    text = telegram_text(message(*(replace(trade(number), line=line) for number, line in enumerate(lines))))
    marked, _, rest = text.partition("</b> ")
    assert marked == "<b>PAPER"
    assert "<" not in rest
    assert ">" not in rest
    read = rest.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    assert len(f"PAPER {read}") <= MOST
