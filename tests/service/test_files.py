"""Kernel files in every way a client may send them: as a form, raw, in JSON."""

import asyncio
import base64
import gzip
import json

import pytest

from service.job_request import safe_filename
from service.settings import ServiceSettings
from tests.service.conftest import serving
from tests.service.workers import HONEST, worker

LIMIT = 1_000_000


async def as_form(http, source: bytes, filename: str = "kernel.py", /, **fields: str):
    return await http.post("/v1/submissions", files={"file": (filename, source)}, data=fields)


async def as_raw(http, source: bytes, filename: str = "kernel.py", /, **fields: str):
    query = {"filename": filename, **fields}
    return await http.post("/v1/submissions", content=source, params=query)


async def as_base64(http, source: bytes, filename: str = "kernel.py", /, **fields: str):
    encoded = base64.b64encode(source).decode()
    body = {"source_base64": encoded, "filename": filename, **fields}
    return await http.post("/v1/jobs", json=body)


async def as_text(http, source: bytes, filename: str = "kernel.py", /, **fields: str):
    body = {"source": source.decode(), "filename": filename, **fields}
    return await http.post("/v1/jobs", content=json.dumps(body, ensure_ascii=False).encode())


WAYS = [as_form, as_raw, as_base64]
each_way = pytest.mark.parametrize("send", WAYS)
each_way_of_utf8 = pytest.mark.parametrize("send", [*WAYS, as_text])

BOM_CRLF = "\ufeff# \u30ab\u30fc\u30cd\u30eb \U0001f680\r\n".encode() + HONEST.replace(
    b"\n", b"\r\n"
)
LATIN_1 = b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + HONEST
UPSTREAM = b"# as upstream does: on the current stream\n" + HONEST


async def stored(http, answer) -> bytes:
    assert answer.status_code == 202, answer.text
    return (await http.get(answer.json()["links"]["source"])).content


@each_way_of_utf8
@pytest.mark.parametrize("source", [BOM_CRLF, UPSTREAM, HONEST], ids=["bom", "stream", "plain"])
async def test_an_honest_file_arrives_byte_for_byte(http, send, source):
    assert await stored(http, await send(http, source)) == source


@each_way
async def test_a_latin_1_file_with_its_cookie_arrives_byte_for_byte(http, send):
    assert await stored(http, await send(http, LATIN_1)) == LATIN_1


@each_way
@pytest.mark.parametrize(
    ("source", "status", "words"),
    [
        (HONEST + b"# a\0b", 422, "NUL byte"),
        (b"", 422, "empty"),
        (HONEST + b"#" * (LIMIT + 1 - len(HONEST)), 413, "at most 1000000 bytes"),
        (b"def kernel(data): ...\n", 422, "`custom_kernel`"),
        (b"class custom_kernel:\n    pass\n", 422, "not a class"),
        (b"custom_kernel = 3\n", 422, "not a constant"),
        (b"import torch\n\ndef custom_kernel(:\n", 422, "line 3"),
        (b"# caf\xe9\n" + HONEST, 422, "0xe9"),
    ],
    ids=["nul", "empty", "long", "missing", "class", "constant", "syntax", "undecodable"],
)
async def test_a_hopeless_file_is_refused_at_once(http, send, source, status, words):
    answer = await send(http, source)
    assert answer.status_code == status
    assert words in answer.json()["detail"]
    assert (await http.get("/v1/jobs")).json()["jobs"] == []


@each_way
async def test_a_file_of_exactly_the_limit_is_accepted(http, send):
    source = HONEST + b"#" * (LIMIT - len(HONEST))
    assert await stored(http, await send(http, source)) == source


@each_way
async def test_a_syntax_error_says_where(http, send):
    document = (await send(http, b"import torch\n\ndef custom_kernel(:\n")).json()
    assert (document["line"], document["column"]) == (3, 19)
    assert document["text"] == "def custom_kernel(:"
    assert document["errors"][0]["field"] == "source"


@each_way
async def test_a_file_name_is_made_safe(http, send):
    answer = await send(http, HONEST, "../é b.py")
    assert answer.json()["filename"] == "e_b.py"
    disposition = (await http.get(answer.json()["links"]["source"])).headers["content-disposition"]
    assert disposition == 'attachment; filename="e_b.py"'


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        (None, "submission.py"),
        ("", "submission.py"),
        ("..", "submission.py"),
        (".py", "submission.py"),
        (".bashrc", "submission.py"),
        ("/etc/passwd", "passwd"),
        ("C:\\kernels\\k.py", "k.py"),
        ("..\\..\\k.py", "k.py"),
        ("カーネル.py", "submission.py"),
        ("a\r\nSet-Cookie: x.py", "a__Set-Cookie__x.py"),
        ('k".py', "k_.py"),
        ("\ud800k.py", "k.py"),
        (".hidden.py", "hidden.py"),
        ("k" * 300 + ".py", "k" * 97 + ".py"),
        ("k." + "p" * 300, "k." + "p" * 24),
    ],
)
def test_a_safe_name_is_short_and_plain(name, safe):
    assert safe_filename(name) == safe


FIELDS = {
    "mode": "benchmark",
    "cases": '[{"m":[16],"n":[16],"k":[16],"seed":"ff"}]',
    "device": "cpu",
}


@pytest.mark.parametrize("send", [as_form, as_raw])
async def test_fields_go_beside_the_file(http, queue, send):
    assert (await send(http, HONEST, **FIELDS)).status_code == 202
    lease = await queue.claim(worker(), wait_s=10)
    assert lease.submission.mode == "benchmark"
    assert [case.seed for case in lease.submission.cases] == [255]
    assert (lease.submission.device, lease.submission.filename) == ("cpu", "kernel.py")
    assert lease.submission.source == HONEST


@pytest.mark.parametrize("send", [as_form, as_raw])
@pytest.mark.parametrize(
    ("fields", "seed", "distribution"),
    [
        ({"seed": "12"}, 12, "official"),
        ({"seed": "0f"}, 15, "official"),
        ({"seed": '"12"'}, 18, "official"),
        ({"distribution": "full_range", "poison_padding": "false"}, None, "full_range"),
    ],
)
async def test_one_case_goes_beside_the_file(http, queue, send, fields, seed, distribution):
    sizes = {"m": "[16]", "n": "[16]", "k": "[32]"}
    assert (await send(http, HONEST, **sizes, **fields)).status_code == 202
    (case,) = (await queue.claim(worker(), wait_s=10)).submission.cases
    assert (case.k, case.seed, case.distribution) == ((32,), seed, distribution)


@pytest.mark.parametrize("send", [as_form, as_raw])
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"modus": "test"}, "modus"),
        ({"mode": "fast"}, "mode"),
        ({"m": "16", "n": "[16]", "k": "[16]"}, "m"),
        ({"m": "[16", "n": "[16]", "k": "[16]"}, "m"),
        ({"m": "[NaN]", "n": "[16]", "k": "[16]"}, "m"),
        ({"cases": '[{"m":[1],"m":[1]}]'}, "cases.m"),
        ({"kernel": "portable"}, "kernel"),
        ({"source": "x"}, "source"),
        ({"source_base64": "eA=="}, "source_base64"),
    ],
)
async def test_a_wrong_field_beside_the_file_is_named(http, send, fields, field):
    answer = await send(http, HONEST, **fields)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


async def test_a_field_twice_is_refused(http):
    answer = await http.post("/v1/submissions?mode=test&mode=test", content=HONEST)
    assert answer.json()["errors"] == [{"field": "mode", "message": "given twice"}]
    answer = await http.post(
        "/v1/submissions?mode=test", files={"file": ("k.py", HONEST)}, data={"mode": "test"}
    )
    assert answer.json()["errors"] == [{"field": "mode", "message": "given twice"}]


@pytest.mark.parametrize("content_type", ["text/x-python", "application/x-www-form-urlencoded"])
async def test_a_raw_file_may_be_called_anything_but_a_form(http, content_type):
    answer = await http.post(
        "/v1/submissions", content=HONEST, headers={"Content-Type": content_type}
    )
    assert await stored(http, answer) == HONEST
    assert answer.json()["filename"] == "submission.py"


def form(body: bytes, content_type: str = "multipart/form-data; boundary=b") -> dict[str, object]:
    return {"content": body, "headers": {"Content-Type": content_type}}


PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="k.py"\r\n\r\n'


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (form(b"", "multipart/form-data"), 400),
        (form(b"", "multipart/form-data; boundary="), 422),
        (form(b"nonsense"), 400),
        (form(b"--b\r\n\r\nx\r\n--b--\r\n"), 400),
        (form(b'--b\r\nContent-Disposition: form-data; name="mode"\r\n\r\ntest\r\n--b--\r\n'), 422),
        (form(PART.replace(b'"file"', b'"upload"') + HONEST + b"\r\n--b--\r\n"), 422),
        (form(PART + HONEST + b"\r\n" + PART + HONEST + b"\r\n--b--\r\n"), 400),
        (form(PART.replace(b'; filename="k.py"', b"") + HONEST + b"\r\n--b--\r\n"), 422),
        (form(PART + HONEST + b"#" * 3_500_000 + b"\r\n--b--\r\n"), 413),
    ],
    ids=[
        "no-boundary",
        "empty-boundary",
        "no-form",
        "nameless",
        "no-file",
        "other-name",
        "two-files",
        "file-as-text",
        "long",
    ],
)
async def test_a_form_that_is_not_as_it_has_to_be_is_refused(http, sent, status):
    answer = await http.post("/v1/submissions", **sent)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]
    assert (await http.get("/v1/jobs")).json()["jobs"] == []


@pytest.mark.parametrize("charset", ["undefined", "utf-7", "unicode_escape", "idna", "nonsense"])
@pytest.mark.parametrize(
    "path", ["/v1/submissions", "/jobs", "/popcorn/submission/nvfp4_group_gemm/any/test"]
)
async def test_a_form_is_utf_8_whatever_codecs_python_has(http, path, charset):
    """`idna` took 3 s for 200 kB, and `utf-7` made half of a surrogate pair that no answer took."""
    content_type = f"multipart/form-data; boundary=b; charset={charset}"
    body = PART.replace(b"k.py", b"+2AA-.py") + HONEST + b"\r\n"
    sizes = b'--b\r\nContent-Disposition: form-data; name="m"\r\n\r\n\\ud800\r\n--b--\r\n'
    answer = await http.post(path, **form(body + sizes, content_type))
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("the charset of a form is UTF-8")


@pytest.mark.parametrize("charset", ["utf-8", '"UTF-8"', "us-ascii"])
async def test_a_form_may_name_its_charset(http, charset):
    content_type = f"multipart/form-data; boundary=b; charset={charset}"
    answer = await http.post(
        "/v1/submissions", **form(PART + HONEST + b"\r\n--b--\r\n", content_type)
    )
    assert await stored(http, answer) == HONEST


async def test_the_limit_of_a_source_is_a_setting(queue_settings):
    settings = ServiceSettings(limits={"source_bytes": 100})
    async with serving(queue_settings, settings) as http:
        for send in WAYS:
            assert (await send(http, HONEST)).status_code == 202
            answer = await send(http, HONEST + b"#" * 100)
            assert answer.status_code == 413
            assert answer.json()["limit"] == 100


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"source": "x", "source_base64": "eA=="}, "source_base64"),
        ({"source_base64": "eA="}, "source_base64"),
        ({"source_base64": "é"}, "source_base64"),
        ({"source": HONEST.decode(), "kernel": "auto"}, "kernel"),
        ({"filename": "k.py"}, "filename"),
        ({"source": 3}, "source"),
    ],
)
async def test_json_carries_one_source_or_a_kernel(http, body, field):
    answer = await http.post("/v1/jobs", json=body)
    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/submissions"])
async def test_a_body_that_announces_too_much_is_not_waited_for(http, path):
    reader, writer = await asyncio.open_connection("127.0.0.1", http.base_url.port)
    announced = f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {10**14}\r\n\r\n"
    writer.write(announced.encode())
    async with asyncio.timeout(20):
        assert await reader.readline() == b"HTTP/1.1 413 Request Entity Too Large\r\n"
    writer.close()


@pytest.mark.parametrize("path", ["/v1/jobs", "/v1/submissions"])
async def test_a_compressed_body_is_refused_as_such(http, path):
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = await http.post(path, content=gzip.compress(b"{}"), headers=headers)
    assert answer.status_code == 415
    assert "Content-Encoding" in answer.json()["detail"]
