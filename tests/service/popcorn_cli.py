"""popcorn-cli as its users meet it: what it sends, what it makes of answers, what it prints.

It sends nothing that the real one does not send: no User-Agent, no Accept-Encoding, a form of one
part without a type, paths put behind the address as text.
"""

import asyncio
import base64
import io
import json
import secrets
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

FATAL = ("failed", "timed_out", "hacked")
POLL_S = 0.02
"""The real one waits 5 s."""
FILE = b"def custom_kernel(data):\n    return data[2]\n"


class ApplicationError(Exception):
    """Ends the program: standard error gets its text, and the exit code is 1."""


def form_of(content: bytes, filename: str, texts: dict[str, str] | None = None):
    """Return content type and body of a form; a part that is a file has no type of its own."""
    boundary = "-".join(secrets.token_hex(8) for _ in range(4))
    quoted = filename.replace("\\", "\\\\").replace('"', '\\"')
    heads = [(f'name="file"; filename="{quoted}"', content)]
    heads += [(f'name="{name}"', text.encode()) for name, text in (texts or {}).items()]
    body = b"".join(
        f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data + b"\r\n"
        for head, data in heads
    )
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


@dataclass
class PopcornCli:
    """The program with an address, an id and an admin's token."""

    base: str
    cli_id: str | None = None
    admin_token: str | None = None
    log: list[str] = field(default_factory=list)
    """What it printed on standard error while it waited."""

    @asynccontextmanager
    async def answer(
        self, method: str, path: str, *, admin: bool = False, known: bool = True, **content
    ) -> AsyncIterator[httpx.Response]:
        headers = {"accept": "*/*"} | content.pop("headers", {})
        if admin:
            headers["authorization"] = f"Bearer {self.admin_token}"
        elif known:
            assert self.cli_id is not None, "Please run `popcorn register` first"
            headers["x-popcorn-cli-id"] = self.cli_id
        if form := content.pop("form", None):
            headers["content-type"], content["content"] = form
        async with httpx.AsyncClient(timeout=30, verify=False, trust_env=False) as client:
            client.headers.clear()
            request = client.build_request(method, self.base + path, headers=headers, **content)
            assert not {"user-agent", "accept-encoding", "cookie"} & set(request.headers)
            answer = await client.send(request, stream=True)
            assert "content-encoding" not in answer.headers
            yield answer
            await answer.aclose()

    async def request(self, method: str, path: str, **options) -> httpx.Response:
        async with self.answer(method, path, **options) as answer:
            await answer.aread()
        return answer

    async def json(self, method: str, path: str, **options) -> object:
        """Return the document of an answer, which every answer has to be."""
        return json.loads(_right(await self.request(method, path, **options)).content)

    async def leaderboards(self) -> list[tuple[str, str]]:
        answer = await self.request("GET", "/leaderboards")
        if not answer.is_success:
            raise ApplicationError(_status(answer) + answer.text)
        items = answer.json()
        assert all(isinstance(item["task"], dict) for item in items)
        assert all(
            isinstance(item[name], str) for item in items for name in ("name", "description")
        )
        return [(item["name"], item["description"]) for item in items]

    async def gpus(self, board: str) -> list[str]:
        answer = await self.request("GET", f"/gpus/{board}")
        if not answer.is_success:
            raise ApplicationError(_status(answer) + answer.text)
        assert all(isinstance(name, str) for name in answer.json())
        return answer.json()

    async def accepted(
        self, board: str, gpu: str, mode: str, content: bytes = FILE, filename: str = "k.py"
    ) -> int:
        """Send a file, and return its number."""
        path = f"/submission/{board.lower()}/{gpu}/{mode.lower()}"
        said = await self.json("POST", path, form=form_of(content, filename))
        number = said["details"]["id"]
        assert type(number) is int
        line = said.get("runner_queue") or {}
        if type(line.get("queued_jobs")) is int:
            self.log.append(f"queue: {line['queued_jobs']} queued job(s)")
        return number

    async def submit(
        self, board: str, gpu: str, mode: str, content: bytes = FILE, filename: str = "k.py"
    ) -> str:
        """Send a file, wait for its end and return what is printed on standard output."""
        number = await self.accepted(board, gpu, mode, content, filename)
        while True:
            seen = await self.json("GET", f"/user/submissions/{number}")
            job = seen.get("job") or {}
            status = job.get("status") or ("done" if seen.get("done") is True else "pending")
            if status in FATAL:
                error = job.get("error") or "No error details were provided"
                raise ApplicationError(f"Submission {number} {status}: {error}")
            if seen.get("done") is True:
                _check_runs(seen, gpu, mode.lower())
                return _result_text(seen, board, mode.lower())
            self.log.append(f"Submission {number} status: {status}")
            await asyncio.sleep(POLL_S)

    async def profile(
        self, board: str, gpu: str, content: bytes = FILE, **options: str
    ) -> list[dict[str, bytes]]:
        """Send a file to be profiled; return the files that are saved of each run.

        It wants a report of Nsight Compute among those of each, whatever else it has saved.
        """
        path = f"/profile/{board.lower()}/{gpu}"
        (result,) = (await self._listen(path, form_of(content, "k.py", options)))["results"]
        assert result["success"] is True
        assert result["runs"]
        assert all(run["run"]["success"] for run in result["runs"].values())
        traces = [run["profile"]["trace"] for run in result["runs"].values()]
        saved = [_saved(base64.b64decode(trace, validate=True)) for trace in traces]
        if not all(any(name.endswith(".ncu-rep") for name in files) for files in saved):
            names = sorted(name for files in saved for name in files)
            raise ApplicationError(f"saved {names}; NCU archive contains no .ncu-rep report")
        return saved

    async def stream(self, board: str, gpu: str, mode: str, content: bytes = FILE) -> dict:
        """Send a file and listen; return the result, as it is before it is printed."""
        path = f"/{board.lower()}/{gpu}/{mode.lower()}"
        return await self._listen(path, form_of(content, "k.py"))

    async def _listen(self, path: str, form: tuple[str, bytes]) -> dict:
        async with self.answer("POST", path, form=form) as answer:
            if not answer.is_success:
                await answer.aread()
                _right(answer)
            assert answer.headers["content-type"].startswith("text/event-stream")
            async for event, data in events_in(answer.aiter_bytes()):
                match event:
                    case "status":
                        self.log.append(json.loads(data).get("message", data))
                    case "error":
                        detail = json.loads(data)["detail"]
                        raise ApplicationError(f"Server processing error: {detail}")
                    case "result":
                        return json.loads(data)
        raise ApplicationError("Stream ended unexpectedly without a final result or error event.")


async def events_in(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[str, str]]:
    """Yield what it understands of a stream: split at two line feeds, the last data line.

    It decodes every chunk by itself, so nothing but ASCII arrives whole.
    """
    buffer = ""
    async for chunk in chunks:
        buffer += chunk.decode("ascii")
        while "\n\n" in buffer:
            message, _, buffer = buffer.partition("\n\n")
            lines = message.split("\n")
            event = [line[6:].strip() for line in lines if line.startswith("event:")]
            data = [line[5:].strip() for line in lines if line.startswith("data:")]
            if event and data:
                yield event[-1], data[-1]


def printed(text: str) -> str:
    """Return a text as it is shown."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    return text.replace("\\n", "\n")


def document(text: str) -> dict:
    """Return the JSON that closes what a submission prints."""
    return json.loads(text[text.index("{") :])


def _check_runs(seen: dict, gpu: str, mode: str) -> None:
    """Fail where the runs do not bear out that it is done: a score has to be there twice."""
    number, runs = seen["id"], seen["runs"]
    if mode != "leaderboard":
        if any(run["mode"] == mode and not run["passed"] for run in runs if not run["secret"]):
            raise ApplicationError(f"Submission {number} {mode} failed")
        return
    here = [run for run in runs if run["runner"].lower() == gpu.lower()]
    ranked = [run for run in here if run["mode"] == "leaderboard" and run["passed"]]
    scored = any(not run["secret"] and run["score"] is not None for run in ranked)
    if not scored:
        raise ApplicationError(f"Submission {number} completed without a leaderboard score")
    if not any(run["secret"] for run in ranked):
        raise ApplicationError(f"Submission {number} did not pass secret validation")
    if any(run["secret"] and not run["passed"] for run in here):
        raise ApplicationError(f"Submission {number} failed secret validation")


def _result_text(seen: dict, board: str, mode: str) -> str:
    rows = [
        row
        for run in seen["runs"]
        if mode in ("test", "benchmark") and run["mode"] == mode and not run["secret"]
        for row in _rows(mode, run.get("result") or {})
    ]
    lines = [
        f"Geomean score ({'secret' if run['secret'] else 'public'}) on {run['runner']}: "
        f"{float(run['score'])} s"
        for run in seen["runs"]
        if run["mode"] == "leaderboard" and run["score"] is not None
    ]
    kept = ("end_time", "mode", "passed", "runner", "score", "secret", "start_time")
    shown = {
        "done": seen["done"],
        "file_name": seen["file_name"],
        "job": {name: seen["job"][name] for name in ("error", "status")},
        "leaderboard": board,
        "runs": [{name: run[name] for name in kept} for run in seen["runs"]],
        "submission_id": seen["id"],
    }
    parts = (*rows, "\n".join(lines), json.dumps(shown, indent=2))
    return printed("\n\n".join(filter(None, parts)))


def _rows(mode: str, result: dict[str, str]) -> Iterator[str]:
    """Yield a line or two a case, of times in nanoseconds."""
    for place in range(int(result.get(f"{mode}-count", "0"))):
        case = f"{mode}.{place}"
        row = result[f"{case}.spec"]
        if mode == "test":
            row = f"{result[f'{case}.status']}: {row}"
        elif f"{case}.mean" in result:
            row += f"\n {float(result[f'{case}.mean']):.0f} ns"
        yield row


def _saved(archive: bytes) -> dict[str, bytes]:
    """Return the files that are unpacked of a profile, by name."""
    wanted = (".ncu-rep", "ncu-details.txt", "ncu-details.csv")
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name) for name in opened.namelist() if name.endswith(wanted)}


def _right(answer: httpx.Response) -> httpx.Response:
    if answer.is_success:
        return answer
    try:
        detail = answer.json().get("detail")
    except ValueError:
        detail = None
    raise ApplicationError(_status(answer) + (detail if isinstance(detail, str) else answer.text))


def _status(answer: httpx.Response) -> str:
    return f"Server returned status {answer.status_code} {answer.reason_phrase}: "
