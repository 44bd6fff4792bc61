"""Where callbacks may go: the Internet at large, by the address that was checked."""

import ipaddress
import socket

import pytest

from service.callback_address import AddressRefused, CallbackAddresses, is_public

PUBLIC = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e"]
PRIVATE = [
    *("127.0.0.1", "127.8.9.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254"),
    *("0.0.0.0", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1"),
    *("2002:7f00:1::", "2001:0:7f00:1::", "fec0::1", "4000::1"),
]


@pytest.fixture
def addresses():
    checked = CallbackAddresses(allow_private=False)
    yield checked
    checked.close()


@pytest.mark.parametrize("address", PUBLIC)
def test_addresses_of_the_internet_are_public(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PRIVATE)
def test_all_others_are_not(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.1/", "http://localhost:8000/x", "https://[::1]/", "http://2130706433/"),
        *("http://0x7f.1/", "http://127.1/", "http://0/"),
        *("http://169.254.169.254/latest/meta-data", "http://[::ffff:169.254.169.254]/"),
        "http://[fe80::1]/",
    ],
)
async def test_an_address_that_leads_inside_is_refused_however_it_is_written(addresses, url):
    with pytest.raises(AddressRefused, match="HALFBYTE_SERVICE_CALLBACK_PRIVATE=true allows it"):
        await addresses.target(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ftp://8.8.8.8/", "must be an http or https address"),
        ("8.8.8.8", "must be an http or https address"),
        ("", "must be an http or https address"),
        ("http://", "must be an http or https address"),
        ("file:///etc/passwd", "must be an http or https address"),
        ("http://u:p@8.8.8.8/", "must not carry a user name"),
        ("http://8.8.8.8\\@10.0.0.1/", "must not carry a user name"),
        ("http://[::1", "no address"),
        ("http://0177.0.0.1/", "no address"),
        ("http://exa\nmple.com/", "no address"),
        ("http://8.8.8.8:99999/", "no port 99999"),
        ("http://8.8.8.8:0/", "no port 0"),
        ("http://no.such.name.invalid/", "cannot be resolved"),
        (f"http://{'a' * 300}.invalid/", "cannot be resolved"),
    ],
)
async def test_what_is_no_address_is_refused_in_words(addresses, url, said):
    with pytest.raises(AddressRefused, match=said):
        await addresses.target(url)


def resolve_to(monkeypatch, *answers: str) -> None:
    """Have the name server answer as it is told, once each."""
    told = list(answers)

    def getaddrinfo(host, port, **_):
        address = ipaddress.ip_address(told.pop(0) if len(told) > 1 else told[0])
        family = socket.AF_INET if address.version == 4 else socket.AF_INET6
        return [(family, socket.SOCK_STREAM, 6, "", (str(address), port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


async def test_the_address_that_was_checked_is_the_one_that_is_used(addresses, monkeypatch):
    resolve_to(monkeypatch, "8.8.8.8", "127.0.0.1")
    target = await addresses.target("https://hook.example:8443/a?b=c")
    assert str(target.url) == "https://8.8.8.8:8443/a?b=c"
    assert (target.host, target.server_name) == ("hook.example:8443", "hook.example")
    with pytest.raises(AddressRefused, match=r"hook\.example leads to 127\.0\.0\.1"):
        await addresses.target("https://hook.example:8443/a?b=c")


async def test_an_address_of_ipv6_is_written_as_one(addresses, monkeypatch):
    resolve_to(monkeypatch, "2606:4700::1")
    target = await addresses.target("http://hook.example/")
    assert (target.url.raw_host, target.url.netloc) == (b"2606:4700::1", b"[2606:4700::1]")


async def test_one_private_address_among_others_is_enough_to_refuse(addresses, monkeypatch):
    answers = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80))
        for address in ("8.8.8.8", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: answers)
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        await addresses.target("http://hook.example/")


async def test_private_addresses_may_be_allowed():
    addresses = CallbackAddresses(allow_private=True)
    target = await addresses.target("http://localhost:9/x")
    assert target.url.host in ("127.0.0.1", "::1")
    assert target.host == "localhost:9"
    addresses.close()
