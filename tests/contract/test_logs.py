"""Lines of logs: an operator reads them on a terminal, and they quote what strangers wrote."""

import logging
import sys

from contract.logs import PairsFormatter

HOSTILE = "a\r\n2026-01-01 INFO forged\x1b[2J\u202e\udcff\x00 é☃"
HARMLESS = r"a\r\n2026-01-01 INFO forged\x1b[2J\u202e\udcff\x00 é☃"


def line_of(error: Exception | None = None, **extra: str) -> str:
    record = logging.LogRecord("n", logging.WARNING, "f", 1, "waiting: %s", (HOSTILE,), None)
    vars(record).update(extra)
    if error is not None:
        try:
            raise error
        except type(error):
            record.exc_info = sys.exc_info()
    return PairsFormatter().format(record)


def test_a_message_is_one_line_that_no_terminal_acts_on():
    assert line_of().endswith(f" WARNING n: waiting: {HARMLESS}")


def test_values_behind_it_are_json():
    assert line_of(path="/\x1b\n").endswith(f'{HARMLESS} path="/\\u001b\\n"')


def test_a_traceback_keeps_its_lines_and_nothing_else_of_what_it_quotes():
    first, *lines, last = line_of(ValueError("x\x1b[2J\ry")).splitlines()
    assert first.endswith(HARMLESS)
    assert lines[0] == "Traceback (most recent call last):"
    assert last == r"ValueError: x\x1b[2J\ry"
