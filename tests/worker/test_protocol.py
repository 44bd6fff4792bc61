"""The records between judge and runner: what a hostile process may send, and what comes of it."""

import math
import struct
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernels.problems import PROBLEMS
from worker.blame import OUTCOMES, blame
from worker.ends import Answered, Died
from worker.protocol import (
    ANSWER_BYTES,
    CALL_BYTES,
    JOB_BYTES,
    LONGEST_US,
    MAGIC,
    TEXT_BYTES,
    Answer,
    Call,
    Job,
    ProtocolError,
    Status,
    shorten,
)

U32, U64 = st.integers(0, 2**32 - 1), st.integers(0, 2**64 - 1)
DURATIONS = st.floats(0, LONGEST_US)
ANSWERS = st.builds(
    Answer,
    token=U64,
    status=st.sampled_from(Status),
    group=U32,
    event_us=DURATIONS,
    host_us=DURATIONS,
    text=st.text(),
)
EVENT_AT = struct.calcsize("<IQHI")
LENGTH_AT = struct.calcsize("<IQHIdd")


def with_field(record: bytes, at: int, field: bytes) -> bytes:
    return record[:at] + field + record[at + len(field) :]


@given(ANSWERS)
def test_an_answer_arrives_as_it_was_sent(answer: Answer) -> None:
    arrived = Answer.unpack(answer.pack())
    assert replace(arrived, text="") == replace(answer, text="")
    if len(answer.text.encode(errors="replace")) <= TEXT_BYTES:
        assert arrived.text == answer.text.encode(errors="replace").decode()


@given(st.builds(Job, U64, U64, U32, st.booleans(), st.sampled_from(sorted(PROBLEMS))))
def test_a_job_arrives_as_it_was_sent(job: Job) -> None:
    assert len(job.pack()) == JOB_BYTES
    assert Job.unpack(job.pack()) == job


@given(st.builds(Call, U64, U64, U64, U32))
def test_a_call_arrives_as_it_was_sent(call: Call) -> None:
    assert len(call.pack()) == CALL_BYTES
    assert Call.unpack(call.pack()) == call


def plausible(magic: int, status: int, durations: tuple[float, float], length: int) -> bytes:
    head = struct.pack("<IQHIddH", magic, 0, status, 0, *durations, length)
    return head.ljust(ANSWER_BYTES, b"\xff")


RECORDS = st.one_of(
    st.binary(max_size=ANSWER_BYTES + 1),
    st.binary(min_size=ANSWER_BYTES, max_size=ANSWER_BYTES),
    st.builds(
        plausible,
        st.one_of(st.just(MAGIC), U32),
        st.one_of(st.sampled_from(Status), st.integers(0, 2**16 - 1)),
        st.tuples(st.floats(), st.floats()),
        st.integers(0, 2**16 - 1),
    ),
)


@given(RECORDS)
@example(b"")
@example(b"\0" * ANSWER_BYTES)
@example(plausible(MAGIC, 65535, (0.0, 0.0), 0))
@example(plausible(MAGIC, Status.DONE, (math.nan, 0.0), 0))
@example(plausible(MAGIC, Status.RAISED, (0.0, 0.0), TEXT_BYTES))
def test_any_bytes_are_an_answer_or_a_breach_of_the_protocol(record: bytes) -> None:
    try:
        answer = Answer.unpack(record)
    except ProtocolError:
        return
    assert 0 <= answer.event_us <= LONGEST_US
    assert 0 <= answer.host_us <= LONGEST_US
    assert len(answer.text) <= TEXT_BYTES
    answer.text.encode()  # no lone surrogate, which JSON would refuse
    failure = blame(Answered(answer), compiling=False, limit="call_limit", memory_bytes=1 << 30)
    assert failure.outcome != "passed"


@pytest.mark.parametrize(
    ("end", "said"),
    [
        (
            Died(-9, out_of_memory=True),
            "the process went over its limit of memory, 8 GiB on the host",
        ),
        (
            Answered(Answer(0, Status.MEMORY, text="MemoryError\n\nk.py, line 3")),
            "MemoryError (its limit of memory is 8 GiB on the host)\n\nk.py, line 3",
        ),
        (
            Answered(Answer(0, Status.MEMORY, text="CUDA out of memory. Of 139.80 GiB 1 is free.")),
            "CUDA out of memory. Of 139.80 GiB 1 is free.",
        ),
    ],
)
def test_who_runs_out_of_memory_is_told_of_how_much(end: Answered | Died, said: str) -> None:
    failure = blame(end, compiling=False, limit="call_limit", memory_bytes=8 << 30)
    assert (failure.outcome, failure.message) == ("out_of_memory", said)


@pytest.mark.parametrize("size", [0, 1, ANSWER_BYTES - 1, ANSWER_BYTES + 1])
def test_an_answer_of_another_size_is_none(size: int) -> None:
    with pytest.raises(ProtocolError, match=f"a record of {size} bytes"):
        Answer.unpack(bytes(size))


@pytest.mark.parametrize(
    "duration_us", [math.nan, -math.nan, math.inf, -math.inf, -5e-324, -1.0, 2 * LONGEST_US]
)
@pytest.mark.parametrize("at", [EVENT_AT, EVENT_AT + 8])
def test_a_duration_is_finite_and_not_negative(duration_us: float, at: int) -> None:
    record = with_field(Answer(1, Status.DONE).pack(), at, struct.pack("<d", duration_us))
    with pytest.raises(ProtocolError, match="duration"):
        Answer.unpack(record)


def test_a_text_is_no_longer_than_its_field() -> None:
    record = with_field(
        Answer(1, Status.RAISED).pack(), LENGTH_AT, struct.pack("<H", TEXT_BYTES + 1)
    )
    with pytest.raises(ProtocolError, match="malformed"):
        Answer.unpack(record)


@given(st.binary(max_size=3 * TEXT_BYTES), st.integers(100, TEXT_BYTES))
def test_what_is_too_long_keeps_its_head_and_its_tail(text: bytes, limit_bytes: int) -> None:
    short = shorten(text, limit_bytes)
    assert len(short) <= limit_bytes
    if len(text) <= limit_bytes:
        assert short == text
    else:
        assert short[:20] == text[:20]
        assert short[-20:] == text[-20:]
        assert b"bytes and more left out" in short


def test_only_what_says_that_all_went_well_is_blamed_for_nothing() -> None:
    well = {Status.READY, Status.REVIEWED, Status.IMPORTED, Status.DONE}
    assert set(Status) - set(OUTCOMES) == well
