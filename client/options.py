"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

from client.environment import default_data_dir

LOCAL = "http://127.0.0.1:8000"

Url = Annotated[str, typer.Option(envvar="HALFBYTE_URL", help="Where the service is.")]
Key = Annotated[
    str | None,
    typer.Option(envvar="HALFBYTE_KEY", show_envvar=True, help="The key it knows you by."),
]
Name = Annotated[
    str | None,
    typer.Option(envvar="HALFBYTE_NAME", help="Whose the job is, while the service has no keys."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON and nothing else.")]
Data = Annotated[
    Path,
    typer.Option(
        envvar="HALFBYTE_DATA",
        default_factory=default_data_dir,
        show_default="$XDG_STATE_HOME/halfbyte or ~/.local/state/halfbyte",
        help="Where jobs and logs are kept.",
    ),
]
Redis = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="HALFBYTE_QUEUE_REDIS_URL",
        help="The service's Redis; default: that of the `halfbyte up` with its data in --data.",
    ),
]
