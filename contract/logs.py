"""Logging: one line an event, `name=value` pairs behind it."""

import json
import logging

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message"}

_to_json = json.JSONEncoder(default=str).encode


class PairsFormatter(logging.Formatter):
    """Writes what a call gave as `extra` behind its message, each value as JSON."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line, and the traceback below it where there is one."""
        pairs = " ".join(
            f"{name}={_to_json(value)}"
            for name, value in vars(record).items()
            if name not in _STANDARD
        )
        line = f"{self.formatTime(record)} {record.levelname} {record.name}: {record.getMessage()}"
        line = _plain(line) + (f" {pairs}" if pairs else "")
        if record.exc_info:
            lines = self.formatException(record.exc_info).split("\n")
            line = "\n".join((line, *map(_plain, lines)))
        return line


def _plain(text: str) -> str:
    """Return a text without what a terminal would act on: candidates and clients are quoted."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def log_to_stderr() -> None:
    """Send everything of this process to standard error."""
    handler = logging.StreamHandler()
    handler.setFormatter(PairsFormatter())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    # It tells every address that a callback goes to, and an address may hold a secret.
    logging.getLogger("httpx").setLevel(logging.WARNING)
