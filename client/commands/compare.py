"""`halfbyte compare A B`: which of two is faster, and whether that is more than noise."""

from pathlib import Path
from typing import Annotated

import typer

from client.api import file_candidate
from client.commands.evaluate import asked_of, read
from client.config import Config, load
from client.option_groups import grouped
from client.options import Device, Json, Name, Problem, Seed, Service, Sizes
from client.watch import follow
from client.wire import CandidateRequest

A = Annotated[
    str, typer.Argument(metavar="A", help="A kernel file, or a built-in kernel: what is there.")
]
B = Annotated[str, typer.Argument(metavar="B", help="Another one: what is to replace it.")]
NOTHING_SET = Config(())


@grouped
def compare(
    *,
    a: A,
    b: B,
    problem: Problem = None,
    sizes: Sizes,
    seed: Seed = None,
    device: Device = None,
    service: Service,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Test two kernels, and time them in turns on one GPU. Exits with 1 where B is slower.

    Exits with 0 where B is faster, and where there is no difference:
    under 1 % or 1.5 us, or within the noise. Where a kernel is wrong it
    exits with 1 as well.
    """
    config, cases, asked = load(), sizes.chosen(seed), {"problem": problem, "device": device}
    candidates: list[CandidateRequest] = []
    for text in (a, b):
        file = Path(text)
        if not (file.suffix or file.exists()):
            candidates.append({"kernel": text})
            continue
        source = read(file)
        # What a file says of itself comes before what is set, be it A or B that says it.
        asked = asked_of(file, source, NOTHING_SET, **asked)
        candidates.append(file_candidate(source, file.name))
    one, other = candidates
    chosen = {word: value or config.value(word) for word, value in asked.items()}
    with service.client(config, name) as client:
        job = client.compare(one, other, cases, **chosen)
        raise typer.Exit(follow(client, job, as_json))
