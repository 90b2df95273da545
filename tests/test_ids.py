"""Identities: one set of 128 bits in three spellings."""

import string
import time
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorist import ids
from memorist.errors import InvalidId
from memorist.ids import new_id, parse_id, to_uuid

bits = st.integers(0, 2**128 - 1)


@given(bits)
def test_every_spelling_of_an_id_is_the_same_id(number: int) -> None:
    uuid = UUID(int=number)
    canonical = parse_id("mem", str(uuid))
    ulid = canonical.removeprefix("mem_")
    assert len(ulid) == 26
    assert to_uuid(canonical) == uuid
    for form in (canonical, ulid, ulid.lower(), f"mem_{ulid.lower()}", f"mem_{uuid}", str(uuid).upper(), uuid.hex):
        assert parse_id("mem", form) == canonical


@given(st.text())
def test_any_text_is_an_id_or_invalid(text: str) -> None:
    try:
        parsed = parse_id("mem", text)
    except InvalidId:
        return
    assert parse_id("mem", parsed) == parsed


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "mem_",
        "mem_" + "0" * 25,
        "mem_" + "0" * 27,
        "mem_" + "8" + "0" * 25,
        "mem_" + "U" * 26,
        "mem_" + "I" * 26,
        "key_" + "0" * 26,
        "mem_mem_" + "0" * 26,
        "not-a-uuid-at-all-not-a-uuid-at-all",
    ],
)
def test_malformed_id_is_refused(bad: str) -> None:
    with pytest.raises(InvalidId):
        parse_id("mem", bad)


def test_long_nonsense_is_not_repeated_in_full() -> None:
    with pytest.raises(InvalidId) as caught:
        parse_id("mem", "x" * 100_000)
    assert len(str(caught.value)) < 300


def test_new_ids_are_canonical_distinct_and_sorted_by_time() -> None:
    ids = [new_id("mem") for _ in range(2000)]
    assert len(set(ids)) == 2000
    assert all(parse_id("mem", one) == one for one in ids)
    milliseconds = [to_uuid(one).int >> 80 for one in ids]
    assert milliseconds == sorted(milliseconds)
    assert set("".join(ids)) <= set(string.digits + string.ascii_uppercase + "mem_")


def test_new_ids_are_valid_uuids_of_version_7() -> None:
    ids = [new_id("mem") for _ in range(2000)]
    uuids = [to_uuid(one) for one in ids]
    assert {(uuid.version, uuid.variant) for uuid in uuids} == {(7, RFC_4122)}
    assert all(parse_id("mem", str(uuid)) == one for uuid, one in zip(uuids, ids, strict=True))
    assert ids == sorted(ids)
    assert uuids == sorted(uuids)


def test_ids_stay_in_order_where_the_random_part_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns()
    monkeypatch.setattr(ids, "_last", ids._last)  # What is made here in the future is forgotten afterwards.
    monkeypatch.setattr(ids.time, "time_ns", lambda: now + 10**12)
    monkeypatch.setattr(ids.os, "urandom", lambda count: b"\xff" * count)
    one, two = to_uuid(new_id("mem")), to_uuid(new_id("mem"))
    assert two > one
    assert (two.version, two.variant) == (7, RFC_4122)
    assert (two.int >> 80) - (one.int >> 80) == 1


def test_ids_of_earlier_releases_are_read() -> None:
    ulid = "01J9Z3K4M5N6P7Q8R9S0T1V2W3"
    assert parse_id("mem", str(to_uuid(f"mem_{ulid}"))) == f"mem_{ulid}"


def test_largest_and_smallest_ids_exist() -> None:
    assert parse_id("mem", "0" * 26) == "mem_" + "0" * 26
    assert to_uuid(parse_id("mem", "7" + "Z" * 25)).int == 2**128 - 1
