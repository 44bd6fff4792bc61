"""python -m service.keys: make, list and revoke API keys, with no service in between.

Whoever reaches Redis may do it, so the first key needs no key. It reads HALFBYTE_QUEUE_REDIS_URL;
`halfbyte admin key` starts it. A new key goes to standard output alone, all else to standard error,
so that `KEY=$(halfbyte admin key create NAME)` works and nothing else has to be taken out of it.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence

from contract.errors import QueueUnavailable
from contract.keys import ApiKey, KeyStore, Role
from contract.queue import JobQueue
from contract.settings import QueueSettings

WRONG = 2
UNAVAILABLE = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m service.keys", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    create = commands.add_parser("create")
    create.add_argument("name")
    create.add_argument("--role", type=Role, choices=list(Role), default=Role.SUBMIT)
    commands.add_parser("list")
    commands.add_parser("revoke").add_argument("id")
    commands.add_parser("callback-secret").add_argument("name")
    return asyncio.run(_run(parser.parse_args(arguments)))


async def _run(asked: argparse.Namespace) -> int:
    queue = JobQueue.connect(QueueSettings())
    keys = KeyStore(queue.store)
    try:
        match asked.command:
            case "create":
                await _create(keys, asked.name, asked.role)
            case "list":
                sys.stdout.writelines(f"{line}\n" for line in _table(await keys.list()))
            case "revoke":
                revoked = await keys.revoke(asked.id)
                _say(f"revoked: {revoked.id} of {revoked.name}, role {revoked.role}")
            case "callback-secret":
                if not await keys.knows(asked.name):
                    raise ValueError(
                        f"nobody is called {asked.name!r}: no key and no job has this name; "
                        "`halfbyte admin key list` shows the names of keys"
                    )
                sys.stdout.write(f"{await keys.callback_secret(asked.name)}\n")
    except ValueError as error:
        _say(f"halfbyte: {error}")
        return WRONG
    except KeyError as error:
        _say(f"halfbyte: there is no key with the id {error.args[0]!r}")
        return WRONG
    except QueueUnavailable as error:
        _say(f"halfbyte: Redis does not answer: {error}")
        return UNAVAILABLE
    finally:
        await queue.close()
    return 0


async def _create(keys: KeyStore, name: str, role: Role) -> None:
    key, token = await keys.create(name, role)
    sys.stdout.write(f"{token}\n")
    sys.stdout.flush()
    _say(f"This is shown once: key {key.id} of {key.name}, role {key.role}.")
    _say("Send it as `Authorization: Bearer KEY`; the command reads HALFBYTE_KEY.")
    _say(f"Callbacks of {name}'s jobs are signed with {await keys.callback_secret(name)}")


def _table(keys: Sequence[ApiKey]) -> Sequence[str]:
    rows = [("ID", "NAME", "ROLE", "CREATED", "REVOKED")]
    for key in keys:
        revoked = "" if key.revoked_at is None else f"{key.revoked_at:%Y-%m-%d %H:%M}"
        rows.append((key.id, key.name, key.role, f"{key.created_at:%Y-%m-%d %H:%M}", revoked))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


if __name__ == "__main__":
    sys.exit(main())
