"""Who may see and change what: every role against every owner, as one table. Pure."""

import itertools
from collections.abc import Callable
from dataclasses import replace

import pytest

from memorist.errors import Forbidden, NotFound
from memorist.memories.values import Kind
from memorist.platform import access
from memorist.platform.access import Action
from memorist.platform.values import Owner, OwnerFilter, Principal, Role
from memorist.testing import make_memory

OWNERS = {
    "tenant": Owner(),
    "ada": Owner("ada"),
    "ada+coder": Owner("ada", "coder"),
    "ada+writer": Owner("ada", "writer"),
    "bob": Owner("bob"),
    "bob+coder": Owner("bob", "coder"),
    "coder": Owner(None, "coder"),
    "writer": Owner(None, "writer"),
}
ALL = set(OWNERS)
ADA = {"ada", "ada+coder", "ada+writer"}

# Role, user and agent of the caller; what it sees; what it may write.
TABLE = [
    (Role.ADMIN, None, None, ALL, ALL),
    (Role.ADMIN, None, "coder", {"tenant", "ada", "ada+coder", "bob", "bob+coder", "coder"}, ...),
    (Role.ADMIN, "ada", None, {"tenant", *ADA}, ...),
    (Role.ADMIN, "ada", "coder", {"tenant", "ada", "ada+coder", "coder"}, ...),
    (Role.SERVICE, None, None, {"tenant"}, set()),
    (Role.SERVICE, None, "coder", {"tenant", "coder"}, {"coder"}),
    (Role.SERVICE, "ada", None, {"tenant", *ADA}, ADA),
    (Role.SERVICE, "ada", "coder", {"tenant", "ada", "ada+coder", "coder"}, {"ada", "ada+coder", "coder"}),
    (Role.USER, "ada", None, {"tenant", *ADA}, ADA),
    (Role.USER, "ada", "coder", {"tenant", "ada", "ada+coder", "coder"}, {"ada", "ada+coder", "coder"}),
    (Role.READER, None, None, {"tenant"}, set()),
    (Role.READER, None, "coder", {"tenant", "coder"}, set()),
    (Role.READER, "ada", None, {"tenant", *ADA}, set()),
    (Role.READER, "ada", "coder", {"tenant", "ada", "ada+coder", "coder"}, set()),
]


@pytest.mark.parametrize(("role", "user", "agent", "sees", "writes"), TABLE)
def test_caller_sees_and_writes_exactly_this(role, user, agent, sees, writes) -> None:
    caller = Principal("t", role, user, agent)
    assert {name for name, owner in OWNERS.items() if access.can_see(caller, owner)} == sees
    writable = set()
    for name, owner in OWNERS.items():
        try:
            access.require_writable(caller, owner)
            writable.add(name)
        except Forbidden:
            pass
    assert writable == (sees if writes is ... else writes)


def test_every_role_has_rules() -> None:
    assert set(access.ALLOWED) == set(Role)
    assert {action for actions in access.ALLOWED.values() for action in actions} == set(Action)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        (Role.ADMIN, {"read", "write", "share", "share documents", "administer"}),
        (Role.SERVICE, {"read", "write", "share documents"}),
        (Role.USER, {"read", "write"}),
        (Role.READER, {"read"}),
    ],
)
def test_role_allows_exactly_this(role: Role, allowed: set[str]) -> None:
    caller = Principal("t", role, "ada")
    for action in Action:
        if action in allowed:
            access.require(caller, action)
        else:
            with pytest.raises(Forbidden):
                access.require(caller, action)


@pytest.mark.parametrize(("role", "user", "agent"), [row[:3] for row in TABLE])
@pytest.mark.parametrize("slices", [access.visible_slices, access.shown_slices, access.session_slices])
def test_slices_are_disjoint(
    slices: Callable[[Principal], tuple[OwnerFilter, ...]], role: Role, user: str | None, agent: str | None
) -> None:
    """Otherwise a list would show a row twice."""
    whose = slices(Principal("t", role, user, agent))
    for owner in OWNERS.values():
        assert sum(part.matches(owner) for part in whose) <= 1


def test_turns_of_the_named_session_are_seen_with_whichever_agent_and_nothing_else() -> None:
    turn = make_memory("t", kind=Kind.CHAT_MESSAGE, session="s1", owner=Owner("ada", "writer"))
    caller = Principal("t", Role.USER, "ada", "coder", "s1")
    assert access.sees(caller, turn)
    for other in (
        replace(turn, session="s2"),
        replace(turn, session=None),
        replace(turn, kind=Kind.FACT),
        replace(turn, kind=Kind.TOOL_OUTPUT, meta={"quotes": ["mem_1"]}),
        replace(turn, owner=Owner("bob", "writer")),
        replace(turn, owner=Owner(None, "writer")),
    ):
        assert not access.sees(caller, other)
    for stranger in (replace(caller, session=None), replace(caller, agent_bound=True), replace(caller, user="bob")):
        assert not access.sees(stranger, turn)
    assert not access.is_shown(caller, turn, in_use=False)
    with pytest.raises(Forbidden):
        access.require_changeable(caller, turn)


def test_invisible_memory_is_not_found_rather_than_forbidden() -> None:
    memory = make_memory("t", owner=Owner("bob"))
    with pytest.raises(NotFound) as hidden:
        access.require_visible(Principal("t", Role.USER, "ada"), memory, memory.id)
    with pytest.raises(NotFound) as missing:
        access.require_visible(Principal("t", Role.USER, "ada"), None, memory.id)
    assert str(hidden.value) == str(missing.value)


@pytest.mark.parametrize(
    ("role", "bound_to", "names", "allowed"),
    [
        (Role.USER, "ada", "ada", True),
        (Role.USER, "ada", "bob", False),
        (Role.READER, "ada", "bob", False),
        (Role.READER, None, "bob", True),
        (Role.SERVICE, None, "bob", True),
        (Role.SERVICE, "ada", "bob", True),
        (Role.ADMIN, None, "bob", True),
        (Role.ADMIN, "ada", "bob", True),
    ],
)
def test_acting_for_another_user(role: Role, bound_to: str | None, names: str, allowed: bool) -> None:
    caller = Principal("t", role, bound_to)
    if allowed:
        assert access.acting(caller, user=names) == replace(caller, user=names, on_behalf=names != bound_to)
    else:
        with pytest.raises(Forbidden):
            access.acting(caller, user=names)


@pytest.mark.parametrize(
    ("role", "bound_to", "names", "allowed", "vouched"),
    [
        (Role.USER, None, "coder", True, False),
        (Role.USER, "coder", "coder", True, True),
        (Role.USER, "coder", "writer", False, False),
        (Role.READER, None, "coder", True, False),
        (Role.READER, "coder", "writer", False, False),
        (Role.SERVICE, "coder", "writer", True, True),
        (Role.ADMIN, "coder", "writer", True, True),
    ],
)
def test_acting_as_another_agent(role: Role, bound_to: str | None, names: str, allowed: bool, vouched: bool) -> None:
    caller = Principal("t", role, "ada", bound_to)
    if allowed:
        assert access.acting(caller, agent=names) == replace(caller, agent=names, agent_vouched=vouched)
    else:
        with pytest.raises(Forbidden, match="bound to the agent"):
            access.acting(caller, agent=names)


def test_naming_an_agent_does_not_open_what_its_users_share() -> None:
    named = access.acting(Principal("t", Role.USER, "bob"), agent="coder")
    bound = Principal("t", Role.USER, "bob", "coder")

    assert not access.can_see(named, Owner(None, "coder"))
    with pytest.raises(Forbidden):
        access.require_writable(named, Owner(None, "coder"))
    assert access.can_see(bound, Owner(None, "coder"))
    for principal in (named, bound):
        assert access.can_see(principal, Owner("bob", "coder"))
        assert not access.can_see(principal, Owner("bob", "writer"))


def test_acting_never_changes_tenant_role_or_key() -> None:
    caller = Principal("t", Role.SERVICE, key_id="key_1", source="http")
    acting = access.acting(caller, user="ada", agent="coder", session="s")
    assert acting == Principal("t", Role.SERVICE, "ada", "coder", "s", "key_1", "http", on_behalf=True)


def test_naming_nobody_changes_nothing() -> None:
    for role, user, agent in itertools.product(Role, (None, "ada"), (None, "coder")):
        caller = Principal("t", role, user, agent, "s")
        assert access.acting(caller) == caller


@pytest.mark.parametrize("role", [Role.SERVICE, Role.USER, Role.READER])
def test_caller_that_acts_for_nobody_owns_nothing(role: Role) -> None:
    with pytest.raises(Forbidden, match="acts for nobody"):
        access.default_owner(Principal("t", role))


def test_default_owner_is_the_caller() -> None:
    assert access.default_owner(Principal("t", Role.USER, "ada", "coder")) == Owner("ada", "coder")
    assert access.default_owner(Principal("t", Role.SERVICE, None, "coder")) == Owner(None, "coder")
    assert access.default_owner(Principal("t", Role.ADMIN)) == Owner()


@pytest.mark.parametrize(
    ("part", "matched"),
    [
        (OwnerFilter(), {"tenant"}),
        (OwnerFilter("ada"), {"ada"}),
        (OwnerFilter("ada", any_agent=True), ADA),
        (OwnerFilter(agent="coder", any_user=True), {"coder", "ada+coder", "bob+coder"}),
        (OwnerFilter(any_user=True, any_agent=True), ALL),
    ],
)
def test_slice_matches_exactly_these_owners(part: OwnerFilter, matched: set[str]) -> None:
    assert {name for name, owner in OWNERS.items() if part.matches(owner)} == matched


@pytest.mark.parametrize("role", [Role.ADMIN, Role.SERVICE, Role.USER])
def test_named_memory_of_no_profile_is_for_those_who_share(role: Role) -> None:
    for agent in (None, "coder"):
        caller = Principal("t", role, "ada", agent)
        usual = None if role is Role.ADMIN else access.DEFAULT_PROFILE
        assert access.writable_owner(caller, None, named=True) == Owner("ada", agent or usual)
        assert access.writable_owner(caller, None) == Owner("ada", agent)
        if role is Role.ADMIN:
            assert access.writable_owner(caller, Owner("ada"), named=True) == Owner("ada")
        else:
            with pytest.raises(Forbidden, match="all share"):
                access.writable_owner(caller, Owner("ada"), named=True)
