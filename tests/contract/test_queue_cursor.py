"""The cursor of a list is digits of ASCII: a digit of another script once got through to Redis."""

import pytest

from contract.errors import InvalidSubmission


@pytest.mark.parametrize(
    "cursor", ["", "x", "-1", "1.0", "١٢", "\N{FULLWIDTH DIGIT ONE}", "1\n", "9" * 16]
)
async def test_a_cursor_that_is_none_of_ours_is_refused(queue, cursor):
    with pytest.raises(InvalidSubmission, match="cursor"):
        await queue.list(cursor=cursor)
