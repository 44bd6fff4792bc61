"""Fuzz what the judge reads from a hostile runner: any bytes, to an answer, to words of a verdict.

    .venv/bin/python bench/fuzz_records.py [--minutes 20]

Uses Atheris where it is installed (`pip install atheris`), which follows the branches that a record
takes; elsewhere records are drawn at random, most of them nearly right. Either stops at the first
record that is neither an answer nor a breach of the protocol, and shows it: add it to
tests/worker/test_protocol.py.
"""

import argparse
import random
import struct
import sys
import time
from collections import Counter
from importlib.util import find_spec

from contract.verdict import CaseResult
from worker.blame import blame
from worker.protocol import (
    ANSWER_BYTES,
    LONGEST_US,
    MAGIC,
    TEXT_BYTES,
    Answer,
    ProtocolError,
    Status,
)
from worker.runner_process import Answered

HEAD = struct.Struct("<IQHIddH")
ODD_DURATIONS = (0.0, -0.0, 5e-324, -1.0, 1e308, float("nan"), float("inf"), -float("inf"))
ODD_TEXT = (b"\xff", b"\xc3", b"\xed\xa0\x80", b"\0", b"\x1b[2J", "\u202e".encode(), b"\n")


def follow(record: bytes) -> str:
    """Take the road of a record; return the name of its end."""
    try:
        answer = Answer.unpack(record)
    except ProtocolError:
        return "breach"
    assert 0 <= answer.event_us <= LONGEST_US
    assert 0 <= answer.host_us <= LONGEST_US
    failure = blame(Answered(answer), compiling=False, limit="call_limit")
    assert failure.outcome != "passed"
    case = CaseResult(
        index=0,
        m=(1,),
        n=(1,),
        k=(16,),
        distribution="official",
        outcome=failure.outcome,
        reason=failure.reason,
        message=failure.message,
    )
    assert CaseResult.model_validate_json(case.model_dump_json()) == case
    return answer.status.name


def nearly_right(chance: random.Random) -> bytes:
    """Return a record with some fields as they should be."""
    if chance.random() < 0.1:
        return chance.randbytes(chance.randrange(ANSWER_BYTES + 2))
    durations = [
        chance.uniform(0, 1e6) if chance.random() < 0.8 else chance.choice(ODD_DURATIONS)
        for _ in range(2)
    ]
    head = HEAD.pack(
        MAGIC if chance.random() < 0.95 else chance.getrandbits(32),
        chance.getrandbits(64),
        chance.choice(list(Status)) if chance.random() < 0.95 else chance.getrandbits(16),
        chance.getrandbits(32),
        *durations,
        chance.randrange(TEXT_BYTES + 2) if chance.random() < 0.95 else chance.getrandbits(16),
    )
    pieces = [chance.choice(ODD_TEXT) * chance.randrange(40) for _ in range(8)]
    return (head + b"".join(pieces) + chance.randbytes(TEXT_BYTES))[:ANSWER_BYTES]


def draw(seconds: float) -> None:
    """Follow random records for so long."""
    seed = time.time_ns()
    chance = random.Random(seed)
    ends: Counter[str] = Counter()
    stop_s = time.monotonic() + seconds
    while time.monotonic() < stop_s:
        record = nearly_right(chance)
        try:
            ends[follow(record)] += 1
        except BaseException:
            print(f"seed {seed}, record {record!r}")
            raise
    print(f"{ends.total()} records in {seconds:g} s, seed {seed}: {dict(ends.most_common())}")


def follow_completed(content: bytes) -> None:
    """Follow some bytes as they are, or completed to a record: few are by chance."""
    if len(content) % 4:
        content = (struct.pack("<I", MAGIC) + content).ljust(ANSWER_BYTES, b"\0")[:ANSWER_BYTES]
    follow(content)


def follow_branches(seconds: float) -> None:
    """Hand over to Atheris, which ends the process and says how many records it tried."""
    import atheris  # noqa: PLC0415

    atheris.instrument_func(Answer.unpack.__func__)
    atheris.instrument_func(blame)
    arguments = [f"-max_total_time={seconds:.0f}", f"-max_len={ANSWER_BYTES}", "-len_control=0"]
    atheris.Setup([sys.argv[0], *arguments], follow_completed)
    atheris.Fuzz()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=20)
    seconds = parser.parse_args().minutes * 60
    if find_spec("atheris") is None:
        draw(seconds)
    else:
        draw(seconds / 2)
        follow_branches(seconds / 2)


if __name__ == "__main__":
    main()
