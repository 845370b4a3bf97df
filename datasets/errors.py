"""Why a file of recorded market data cannot be used."""

LONGEST_SENTENCE = 1_000
"""Characters: two paths and a row, and not a damaged file whole."""


class ImportRejectedError(Exception):
    """A recording cannot be used: one sentence that names the file, and the line where there is one.

    What it quotes of a file stays on that line, steers no terminal and does not fill the screen.
    """

    def __init__(self, sentence: str) -> None:
        plain = "".join(letter if letter.isprintable() else "?" for letter in sentence)
        super().__init__(plain if len(plain) <= LONGEST_SENTENCE else f"{plain[:LONGEST_SENTENCE]}…")
