import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.terminal import console, plain, plain_lines, shortened


@given(st.text())
def test_nothing_that_a_terminal_acts_on_is_left(text):
    assert plain(text).isprintable()
    assert all(line.isprintable() for line in plain_lines(text))


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_what_can_be_read_stays_as_it_is(text):
    assert plain(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J\x1b]0;title\x07", r"\x1b[2J\x1b]0;title\x07"),
        ("a\rb", r"a\rb"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202eevil", r"\u202eevil"),
        ("\ud800", r"\ud800"),
    ],
)
def test_control_characters_are_written_out(text, shown):
    assert plain(text) == shown


def test_lines_end_with_or_without_carriage_return():
    assert plain_lines("a\r\n\tb\nc\rd") == ["a", "    b", "c\\rd"]


@given(st.text(max_size=200), st.integers(2, 50))
def test_a_long_text_keeps_its_ends(text, characters):
    short = shortened(text, characters)
    half = characters // 2
    assert len(short) <= len(text)
    assert short.startswith(text[:half])
    assert short.endswith(text[-half:])
    if short != text:
        assert f"[{len(text) - 2 * half} characters left out]" in short
    else:
        assert len(text) <= characters + len(" [99 characters left out] ")


def test_markup_and_emoji_codes_of_others_are_text(capsys):
    console().print("[red]x[/red] :smile: [link=http://x]y[/link]")
    assert capsys.readouterr().out == "[red]x[/red] :smile: [link=http://x]y[/link]\n"


def test_a_line_is_never_broken_in_a_pipe(capsys):
    console().print("x " * 1000)
    assert capsys.readouterr().out.rstrip() == ("x " * 1000).rstrip()
    assert not sys.stdout.isatty()
