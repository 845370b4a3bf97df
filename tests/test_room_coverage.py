"""Figures of coverage, by room."""

from tests.room_coverage import lines_by_room, table


def test_files_are_summed_by_room() -> None:
    files = {
        "market/money.py": (9, 10),
        "market/trade/legs.py": (40, 40),
        "cep/apps/language/grammar.py": (1, 4),
        "cep/apps/engine/engine.py": (3, 3),
        "cep/spark_session.py": (0, 7),
    }
    assert lines_by_room(files) == {
        "cep": (0, 7),
        "cep/apps/engine": (3, 3),
        "cep/apps/language": (1, 4),
        "market": (49, 50),
    }


def test_each_room_has_a_line_and_all_have_one() -> None:
    assert table({"market": (1_990, 2_000), "session": (1, 2), "empty": (0, 0)}) == (
        "market                    1,990 of   2,000 lines   99.5%\n"
        "session                       1 of       2 lines   50.0%\n"
        "all                       1,991 of   2,002 lines   99.5%\n"
    )
