"""python -m service.keys: what goes where, and what it says when it cannot."""

import pytest

from contract.keys import Role
from service import keys as command


@pytest.fixture(autouse=True)
def _where(queue_settings, monkeypatch):
    monkeypatch.setenv("HALFBYTE_QUEUE_REDIS_URL", queue_settings.redis_url)


def test_a_key_is_made_listed_and_revoked_from_the_machine_itself(capsys):
    assert command.main(["create", "alice", "--role", "admin"]) == 0
    made = capsys.readouterr()
    (token,) = made.out.splitlines()
    _, key_id, secret = token.split("_")
    assert "shown once" in made.err
    assert "whsec_" in made.err
    assert token not in made.err

    assert command.main(["list"]) == 0
    listed = capsys.readouterr().out
    assert listed.splitlines()[1].split()[:3] == [key_id, "alice", "admin"]
    assert secret not in listed

    assert command.main(["revoke", key_id]) == 0
    assert f"revoked: {key_id} of alice" in capsys.readouterr().err
    assert command.main(["list"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split()[-1] == "REVOKED"
    assert len(row.split()) == 3 + 2 + 2


def test_the_callback_secret_of_a_name_can_be_read_again(capsys):
    for _ in range(2):
        assert command.main(["callback-secret", "anonymous"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second
    assert first.startswith("whsec_")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["create", "a:b"], "a name has"),
        (["revoke", "00"], "no key with the id '00'"),
        (["callback-secret", "alcie"], "nobody is called 'alcie': no key and no job"),
        (["callback-secret", ""], "nobody is called ''"),
        (["callback-secret", "a:b\x1b[2J"], "nobody is called 'a:b\\x1b[2J'"),
    ],
)
def test_what_makes_no_sense_is_said_in_a_line(arguments, said, capsys):
    assert command.main(arguments) == command.WRONG
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_an_unknown_role_is_a_usage_error(capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(["create", "alice", "--role", "king"])
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert all(role in said for role in Role)


def test_without_redis_nothing_is_made(monkeypatch, unused_tcp_port, capsys):
    monkeypatch.setenv("HALFBYTE_QUEUE_REDIS_URL", f"redis://127.0.0.1:{unused_tcp_port}")
    assert command.main(["create", "alice"]) == command.UNAVAILABLE
    assert capsys.readouterr().out == ""
