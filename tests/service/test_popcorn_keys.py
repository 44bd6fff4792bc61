"""popcorn-cli and keys: whose submissions are whose, joining by invite, what organisers steer."""

import re

import httpx
import pytest

from contract.keys import Role
from contract.queue import JobQueue
from contract.results import Results
from service.popcorn.routes import admin, boards, profiler, stream, submissions
from tests.service.conftest import serving
from tests.service.popcorn_cli import ApplicationError, PopcornCli
from tests.service.popcorn_jobs import H200, judged, ranked
from tests.service.workers import finish_next, timed

BOARD = "nvfp4_group_gemm"


@pytest.fixture
async def service(queue_settings, keys):
    """The address of a service with keys, as popcorn-cli takes it, and an admin's client."""
    root, _ = await keys.make("root", Role.ADMIN)
    async with serving(queue_settings) as http:
        base = f"{str(http.base_url).rstrip('/')}/popcorn"
        yield PopcornCli(base, cli_id=root.token, admin_token=root.token)


def as_user(service: PopcornCli, token: str | None) -> PopcornCli:
    return PopcornCli(service.base, cli_id=token)


async def registered(service: PopcornCli, provider: str = "discord") -> PopcornCli:
    """What `popcorn register` leaves in `~/.popcorn.yaml`."""
    stranger = PopcornCli(service.base)
    said = await stranger.json("GET", f"/auth/init?provider={provider}", known=False)
    assert re.fullmatch("[A-Za-z][A-Za-z0-9_-]+", said["state"])
    return as_user(service, said["state"])


async def test_a_key_is_an_id_and_others_are_nobody(service, keys):
    alice, _ = await keys.make("alice")
    bob, _ = await keys.make("bob")
    of_alice, of_bob = as_user(service, alice.token), as_user(service, bob.token)
    number = await of_alice.accepted(BOARD, "any", "test")
    assert (await of_alice.json("GET", f"/user/submissions/{number}"))["user_id"] == "alice"
    for method in ("GET", "DELETE"):
        with pytest.raises(ApplicationError, match="404"):
            await of_bob.json(method, f"/user/submissions/{number}")
    assert await of_bob.json("GET", f"/user/submissions?leaderboard={BOARD}&limit=50") == []


@pytest.mark.parametrize("token", ["me", "alice", "hb_000000000000_" + "0" * 64])
async def test_an_id_that_is_no_key_is_refused_with_what_to_do(service, token):
    stranger = as_user(service, token)
    for call in (stranger.submit(BOARD, "any", "test"), stranger.stream(BOARD, "any", "profile")):
        with pytest.raises(ApplicationError, match=r"401 Unauthorized: .*~/\.popcorn\.yaml"):
            await call
    for path in ("/leaderboards", f"/gpus/{BOARD}", "/user/submissions/1", "/jobs/x"):
        assert (await stranger.request("GET", path)).status_code == 401


async def test_a_key_that_only_looks_submits_nothing(service, keys):
    reader, _ = await keys.make("alice", Role.READ)
    assert await as_user(service, reader.token).leaderboards()
    with pytest.raises(ApplicationError, match="403"):
        await as_user(service, reader.token).accepted(BOARD, "any", "test")


async def test_who_registers_is_let_in_by_an_invite(service):
    guest = await registered(service, "github")
    with pytest.raises(ApplicationError, match="401"):
        await guest.accepted(BOARD, "any", "test")
    invited = {"leaderboards": [BOARD.upper()], "count": 2}
    made = await service.json("POST", "/admin/invites", admin=True, json=invited)
    assert made["leaderboards"] == [BOARD]
    code, spare = made["codes"]
    for _ in range(2):
        joined = await guest.json("POST", "/user/join", json={"code": code})
        assert joined["leaderboards"] == [BOARD]
    number = await guest.accepted(BOARD, "any", "test")
    seen = await guest.json("GET", f"/user/submissions/{number}")
    assert re.fullmatch("guest-[0-9a-f]{8}", seen["user_id"])

    other = await registered(service)
    with pytest.raises(ApplicationError, match="used by somebody else"):
        await other.json("POST", "/user/join", json={"code": code})
    path = f"/admin/leaderboards/{BOARD}/invites"
    listed = (await service.json("GET", path, admin=True))["invites"]
    assert {each["code"]: each["user_id"] for each in listed} == {
        code: seen["user_id"],
        spare: None,
    }
    for each, claimed in ((code, True), (spare, False)):
        revoked = await service.json("DELETE", f"/admin/invites/{each}", admin=True)
        assert revoked["was_claimed"] is claimed
    with pytest.raises(ApplicationError, match="no such invite"):
        await other.json("POST", "/user/join", json={"code": spare})
    assert await guest.accepted(BOARD, "any", "test")


async def test_without_keys_an_id_that_was_registered_names_its_holder(http):
    service = PopcornCli(f"{str(http.base_url).rstrip('/')}/popcorn", admin_token="anything")
    one, two = await registered(service), await registered(service)
    names = set()
    for each in (one, one, two, as_user(service, "me")):
        number = await each.accepted(BOARD, "any", "test")
        names.add((await each.json("GET", f"/user/submissions/{number}"))["user_id"])
    assert len(names) == 3
    assert "anonymous" in names
    listed = await one.json("GET", f"/user/submissions?leaderboard={BOARD}&limit=50")
    assert len(listed) == 2
    # Joining makes no key here: the first key would lock everybody out.
    invited = {"leaderboards": [BOARD], "count": 1}
    made = await service.json("POST", "/admin/invites", admin=True, json=invited)
    await one.json("POST", "/user/join", json={"code": made["codes"][0]})
    assert await two.accepted(BOARD, "any", "test")


async def test_the_intake_is_stopped_and_started_by_whatever_road(service, keys):
    alice, header = await keys.make("alice")
    user = as_user(service, alice.token)
    number = await user.accepted(BOARD, "any", "test")
    empty = {"content-length": "0"}
    stopped = await service.json("POST", "/admin/stop", admin=True, headers=empty)
    assert stopped["accepts_jobs"] is False
    with pytest.raises(ApplicationError, match="503 Service Unavailable: no jobs are accepted now"):
        await user.accepted(BOARD, "any", "test")
    async with httpx.AsyncClient(base_url=service.base.removesuffix("/popcorn")) as http:
        refused = await http.post("/v1/jobs", json={}, headers=header)
    assert refused.status_code == 503
    assert "retry-after" in refused.headers
    assert (await user.json("GET", f"/user/submissions/{number}"))["done"] is False
    started = await service.json("POST", "/admin/start", admin=True, headers=empty)
    assert started["accepts_jobs"] is True
    assert await user.accepted(BOARD, "any", "test")


async def test_figures_and_anybodys_submission(service, keys, queue: JobQueue):
    alice, _ = await keys.make("alice")
    number = await as_user(service, alice.token).accepted(BOARD, "any", "test")
    await finish_next(queue, timed())
    for path in ("/admin/stats", "/admin/stats?last_day_only=true"):
        figures = (await service.json("GET", path, admin=True))["stats"]
        assert figures["submissions"] == 1
        assert figures["verdicts"] == {"passed": 1}
    shown = await service.json("GET", f"/admin/submissions/{number}", admin=True)
    assert shown["submission"]["user_id"] == "alice"
    assert "custom_kernel" in shown["submission"]["code"]
    deleted = await service.json("DELETE", f"/admin/submissions/{number}", admin=True)
    assert deleted["submission_id"] == number
    with pytest.raises(ApplicationError, match="404"):
        await service.json("GET", f"/admin/submissions/{number}", admin=True)


async def test_who_was_disqualified_cannot_delete_that(service, keys, queue: JobQueue):
    alice, _ = await keys.make("alice")
    await queue.heartbeat(H200)
    number = await as_user(service, alice.token).accepted(BOARD, "any", "leaderboard")
    job_id = await judged(queue, ranked())
    results = Results(queue.store)
    await results.disqualify(job_id, "answers by heart", "root")
    await as_user(service, alice.token).json("DELETE", f"/user/submissions/{number}")
    ((kept,), _) = await results.history(BOARD, "H200", "alice", 9)
    assert (kept.job, kept.disqualified.reason) == (job_id, "answers by heart")
    assert await results.delete(job_id, "long ago", "root")
    assert await results.history(BOARD, "H200", "alice", 9) == ([], None)


async def test_boards_are_hidden_and_shown(service):
    hidden = await service.json("DELETE", f"/admin/leaderboards/{BOARD}?force=true", admin=True)
    assert hidden["leaderboard"] == BOARD
    assert BOARD not in [name for name, _ in await service.leaderboards()]
    with pytest.raises(ApplicationError, match="404"):
        await service.accepted(BOARD, "any", "test")
    shown = await service.json(
        "POST", "/admin/leaderboards", admin=True, json={"directory": f"problems/nvidia/{BOARD}"}
    )
    assert shown["leaderboard"] == BOARD
    assert await service.accepted(BOARD, "any", "test")
    with pytest.raises(ApplicationError, match="there is no problem 'x'"):
        await service.json("POST", "/admin/leaderboards", admin=True, json={"directory": "x"})


async def test_problems_come_with_the_program(service):
    asked = {"repository": "a/b", "branch": "main", "force": False}
    said = await service.json("POST", "/admin/update-problems", admin=True, json=asked)
    assert (said["created"], said["updated"], said["errors"]) == ([], [], [])
    assert BOARD in [each["name"] for each in said["skipped"]]


@pytest.mark.parametrize("token", [None, "", "hb_000000000000_" + "0" * 64])
async def test_what_organisers_do_takes_an_admin(service, keys, token):
    alice, _ = await keys.make("alice")
    stranger = PopcornCli(service.base, admin_token=token or alice.token)
    for method, path in (
        ("POST", "/admin/start"),
        ("POST", "/admin/stop"),
        ("GET", "/admin/stats"),
        ("GET", "/admin/submissions/1"),
        ("DELETE", "/admin/submissions/1"),
        ("DELETE", f"/admin/leaderboards/{BOARD}"),
        ("GET", f"/admin/leaderboards/{BOARD}/invites"),
        ("DELETE", "/admin/invites/x"),
        ("POST", "/admin/update-problems"),
    ):
        answer = await stranger.request(method, path, admin=True)
        assert answer.status_code == (401 if token else 403), path


async def test_every_path_but_registering_asks_who_it_is(service):
    stranger = PopcornCli(service.base, cli_id="me", admin_token="me")
    everything = {"code": "x", "directory": "x", "leaderboards": ["x"], "count": 1}
    routes = [
        route for each in (admin, boards, profiler, stream, submissions) for route in each.routes
    ]
    assert len(routes) == 24
    for route in routes:
        path = re.sub("{[a-z_]+}", "1", route.path)
        (method,) = route.methods
        answer = await stranger.request(method, path, admin="/admin" in path, json=everything)
        expected = {"/auth/init": 422, "/user/join": 422}.get(path, 401)
        assert answer.status_code == expected, (method, path)
