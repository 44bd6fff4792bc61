"""What a candidate prints is counted, and kept at both ends."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.capture import Capture

LIMIT_BYTES = 100


def captured(*pieces: bytes) -> Capture:
    capture = Capture(LIMIT_BYTES)
    for piece in pieces:
        os.write(capture.write_fd, piece)
    capture.close_write_end()
    capture.finish(10)
    return capture


@given(st.lists(st.binary(min_size=1, max_size=3 * LIMIT_BYTES), max_size=5))
def test_what_fits_is_kept_and_of_the_rest_head_and_tail(pieces: list[bytes]) -> None:
    capture = captured(*pieces)
    everything = b"".join(pieces)
    assert capture.total_bytes == len(everything)
    assert capture.truncated == (len(everything) > LIMIT_BYTES)
    text = capture.text()
    text.encode()  # no lone surrogate
    if capture.truncated:
        assert f"... {len(everything) - LIMIT_BYTES} bytes left out ..." in text
        assert len(text) <= LIMIT_BYTES + 60
    else:
        assert text == everything.decode("utf-8", "replace")


@pytest.mark.parametrize("character", ["é", "行", "🚀"])
def test_it_is_cut_between_characters(character: str) -> None:
    text = captured(character.encode() * LIMIT_BYTES).text()
    head, _, rest = text.partition("\n... ")
    tail = rest.partition(" ...\n")[2]
    assert set(head) == set(tail) == {character}


def test_two_hundred_megabytes_in_one_line_take_no_more_than_their_ends() -> None:
    capture = Capture(LIMIT_BYTES)
    piece = b"x" * (1 << 20)
    for _ in range(200):
        os.write(capture.write_fd, piece)
    capture.close_write_end()
    capture.finish(30)
    assert capture.total_bytes == 200 << 20
    assert len(capture.text()) < LIMIT_BYTES + 60
