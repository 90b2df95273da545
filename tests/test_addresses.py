"""Addresses are shown without their passwords, even those that nobody can parse."""

import pytest

from memorist.addresses import network_of, without_password


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://me:hunter2@host/db",
        "postgresql://me:hun#ter2hunter2@host/db",
        "postgresql://me:h?unter2@x@host:5432/db",
        "postgresql+psycopg://me:hunter2@host/db",
        "postgresql://me:hunter2@[::1/db",
        "postgresql://host/db?password=hunter2&sslmode=require",
        "postgresql://host/db?sslpassword=hunter2",
        'missing "]" in URI: "postgresql://me:hunter2@[::1/db"',
        "host=x password=hunter2 dbname=y",
    ],
)
def test_password_is_masked(text: str) -> None:
    assert "unter2" not in without_password(text)


@pytest.mark.parametrize("text", ["", "memorist.db", "postgresql://me@host/db", "postgresql://host:5432/db?x=1"])
def test_address_without_a_password_stays_as_it_is(text: str) -> None:
    assert without_password(text) == text


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1%eth0", "2001:db8::/64"),
        ("no:address", "no:address"),
        ("", ""),
    ],
)
def test_addresses_of_version_6_stand_for_their_network(address: str, network: str) -> None:
    assert network_of(address) == network
