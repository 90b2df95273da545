"""The one policy layer: who may see and change what. Every door goes through it; what is not allowed here is denied."""

from collections.abc import Iterable
from dataclasses import replace
from enum import StrEnum
from functools import lru_cache
from typing import Protocol, TypeVar

from memorist.errors import Forbidden, InvalidField, NotFound
from memorist.platform import validation
from memorist.platform.values import Owner, OwnerFilter, Principal, Role


class Owned(Protocol):
    """Whatever belongs to somebody."""

    @property
    def owner(self) -> Owner: ...

    @property
    def is_entry(self) -> bool:
        """Whether only its user reads it."""
        ...

    @property
    def said_in(self) -> str | None:
        """The session that it is a turn of."""
        ...


class OwnedByName(Owned, Protocol):
    """The same where it may have a name."""

    @property
    def name(self) -> str | None: ...


T = TypeVar("T", bound=Owned)

# The profile of callers that name no agent.
DEFAULT_PROFILE = "default"


class Action(StrEnum):
    READ = "read"
    WRITE = "write"
    SHARE = "share"
    SHARE_DOCUMENTS = "share documents"
    ADMINISTER = "administer"


ALLOWED: dict[Role, frozenset[Action]] = {
    Role.ADMIN: frozenset(Action),
    Role.SERVICE: frozenset({Action.READ, Action.WRITE, Action.SHARE_DOCUMENTS}),
    Role.USER: frozenset({Action.READ, Action.WRITE}),
    Role.READER: frozenset({Action.READ}),
}

_DENIALS = {
    Action.WRITE: "This key only reads. Writing needs a user, service or admin key.",
    Action.SHARE: "Only an admin key writes or changes memories that all share. Name a profile, or use an admin key.",
    Action.SHARE_DOCUMENTS: "A document that the whole tenant shares is changed and deleted by service and admin keys.",
    Action.ADMINISTER: "Only an admin key does that.",
}


def allows(principal: Principal, action: Action) -> bool:
    return action in ALLOWED[principal.role]


def require(principal: Principal, action: Action) -> None:
    """Raises Forbidden where the role does not allow the action."""
    if not allows(principal, action):
        raise Forbidden(_DENIALS.get(action))


def visible_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """Whose memories the caller sees, as disjoint slices.

    A user sees its own (with an agent named: that profile's and those of no profile), the tenant's and, where the
    credential vouches for the agent, what that agent shares among its users.
    An admin that acts for nobody sees the whole tenant; anybody else that acts for nobody sees what the tenant shares.
    The entries of the companion are among them only for those who read them.
    """
    require(principal, Action.READ)
    entries = reads_entries(principal)
    if principal.user is None and principal.role is Role.ADMIN:
        if principal.agent is None:
            return (OwnerFilter(any_user=True, any_agent=True, entries=entries),)
        of_agent = OwnerFilter(any_user=True, agent=principal.agent, entries=entries)
        return (of_agent, replace(of_agent, agent=None))
    shared = [OwnerFilter()]
    if principal.agent is not None and principal.agent_vouched:
        shared.append(OwnerFilter(agent=principal.agent))
    if principal.user is None:
        return tuple(shared)
    if principal.agent is None:
        return (OwnerFilter(user=principal.user, any_agent=True, entries=entries), *shared)
    own = OwnerFilter(user=principal.user, agent=principal.agent, entries=entries)
    return (own, replace(own, agent=None), *shared)


def reads_entries(principal: Principal) -> bool:
    """Whether the caller reads what only its user reads: the user, and a service or an admin that acts for one."""
    return principal.user is not None and not (principal.role is Role.READER and principal.on_behalf)


def exported_slices(principal: Principal, *, in_use: bool = True) -> tuple[OwnerFilter, ...]:
    """Whose memories an export holds: what the caller sees, of what is deleted what it may restore, and an admin's all
    entries too, or it would be no copy.
    """
    slices = slices_of(principal, in_use=in_use)
    return tuple(replace(part, entries=True) for part in slices) if allows(principal, Action.ADMINISTER) else slices


def own_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """Whose doings the caller looks after: its own, never what is merely shared with it; an admin's are the tenant's.

    Raises Forbidden where it acts for nobody.
    """
    require(principal, Action.READ)
    user, agent = principal.user, principal.agent
    if user is None and principal.role is Role.ADMIN:
        return (OwnerFilter(any_user=True, agent=agent, any_agent=agent is None),)
    if user is not None:
        own = OwnerFilter(user, agent, any_agent=agent is None)
        return (own,) if agent is None else (own, OwnerFilter(user))
    if agent is None or not principal.agent_vouched:
        raise Forbidden("This key acts for nobody. Name the user it acts for.")
    return (OwnerFilter(agent=agent),)


def followed_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """The same, and none where it acts for nobody, who does nothing."""
    is_nobody = principal.user is None and principal.role is not Role.ADMIN
    if is_nobody and (principal.agent is None or not principal.agent_vouched):
        return ()
    return own_slices(principal)


def recoverable_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """Whose deleted memories the caller sees: of what it sees, what it may restore."""
    if not allows(principal, Action.WRITE):
        return ()
    shares = allows(principal, Action.SHARE)
    return tuple(part for part in visible_slices(principal) if shares or part != OwnerFilter())


def over_tenant(principal: Principal) -> Principal:
    """The caller as the one who looks after all of its tenant's memories, where it is an admin: whoever it acts for."""
    return replace(principal, user=None, agent=None) if allows(principal, Action.ADMINISTER) else principal


def looking_after(principal: Principal, memory: Owned | None) -> Principal:
    """The caller itself where a memory is its own, and otherwise as the one who looks after all of its tenant's: what
    it sees only for the session that it is in is another agent's.
    """
    is_own = memory is not None and is_among(visible_slices(principal), memory)
    return principal if is_own else over_tenant(principal)


def shown_slices(principal: Principal, *, in_use: bool = True) -> tuple[OwnerFilter, ...]:
    """Whose memories come without being named, in recall, sections and lists: for a user that names no agent no
    profile's, but what is of none and what is of the profile of those who name none.
    """
    whose = slices_of(principal, in_use=in_use)
    if principal.user is None or principal.agent is not None:
        return whose
    profiles = (None, DEFAULT_PROFILE)
    return tuple(
        part
        for one in whose
        for part in ([replace(one, agent=agent, any_agent=False) for agent in profiles] if one.user else (one,))
    )


def session_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """Whose turns of a session that the caller names it is shown: the user's with whichever agent, since they are one
    conversation. A key that is bound to an agent stays within it.
    """
    if principal.user is None or principal.agent_bound:
        return shown_slices(principal)
    slices = visible_slices(principal)
    return tuple(dict.fromkeys(replace(one, agent=None, any_agent=True) if one.user else one for one in slices))


def user_slices(principal: Principal) -> tuple[OwnerFilter, ...]:
    """The caller's own memories: nobody else's, and nothing that is shared. None where it is no user."""
    return tuple(part for part in visible_slices(principal) if part.user is not None)


def slices_of(principal: Principal, *, in_use: bool) -> tuple[OwnerFilter, ...]:
    """Whose memories the caller sees: those in use, or those that are deleted."""
    return visible_slices(principal) if in_use else recoverable_slices(principal)


def can_see(principal: Principal, owner: Owner) -> bool:
    """Whether the caller sees memories of that owner, as far as they are not what only the owner reads."""
    return any(part.matches(owner) for part in visible_slices(principal))


def sees(principal: Principal, memory: Owned) -> bool:
    return is_among(visible_slices(principal), memory) or _is_of_session(principal, memory)


def _is_of_session(principal: Principal, memory: Owned) -> bool:
    """Whether it is a turn of the conversation that the caller is in."""
    is_turn = memory.said_in is not None and memory.said_in == principal.session
    return is_turn and is_among(session_slices(principal), memory)


def is_among(slices: Iterable[OwnerFilter], memory: Owned) -> bool:
    return any(part.matches(memory.owner) and (part.entries or not memory.is_entry) for part in slices)


def is_shown(principal: Principal, memory: Owned, *, in_use: bool) -> bool:
    """Whether the caller sees a memory in its state: one that is not in use only where it may be brought back."""
    return is_among(slices_of(principal, in_use=in_use), memory) or (in_use and _is_of_session(principal, memory))


def require_visible(principal: Principal, memory: T | None, memory_id: str) -> T:
    """The memory, or NotFound: whether it exists is not told to those who may not see it."""
    if memory is None or not sees(principal, memory):
        raise NotFound(f"There is no memory {memory_id} that you may see.")
    return memory


def require_recoverable(principal: Principal, memory: T, memory_id: str) -> T:
    """The memory, or NotFound: one that is deleted is shown to those who may restore it."""
    is_shown = is_among(recoverable_slices(principal), memory)
    return require_visible(principal, memory if is_shown else None, memory_id)


def require_writable(principal: Principal, owner: Owner) -> None:
    """Raises Forbidden where the caller may not write memories of that owner."""
    require(principal, Action.WRITE)
    if owner == Owner():
        require(principal, Action.SHARE)
    if not can_see(principal, owner):
        raise Forbidden("These memories belong to somebody else.")


def require_changeable(principal: Principal, memory: OwnedByName) -> None:
    """Raises Forbidden where the caller may not change or delete a memory: an agent not what all profiles share."""
    require_writable(principal, memory.owner)
    if memory.name is not None and memory.owner.agent is None and principal.agent is not None:
        require(principal, Action.SHARE)


def is_shared(owner: Owner, name: str | None) -> bool:
    """Whether a memory is the whole tenant's, or one that all profiles of a user are shown for its name."""
    return owner.agent is None and (owner.user is None or name is not None)


def require_nameable(principal: Principal, owner: Owner) -> None:
    """Raises Forbidden where the caller may not give a name to a memory of that owner: all profiles then share it."""
    if owner.agent is None:
        require(principal, Action.SHARE)


def document_owner(principal: Principal, shared: bool | None, *, users_share: bool) -> Owner:
    """Whose a new document will be: the tenant's where `shared` says so or, where it says nothing, with a service or
    admin key. `users_share`: the tenant lets its users share, too. Raises Forbidden.
    """
    shares = allows(principal, Action.SHARE_DOCUMENTS)
    if not shared and not (shared is None and shares):
        return writable_owner(principal, None)
    require(principal, Action.WRITE)
    if not shares and not users_share:
        raise Forbidden(
            "In this tenant only service and admin keys share documents. Leave out shared to keep your own."
        )
    return Owner()


def require_document_writable(principal: Principal, owner: Owner) -> None:
    """Raises Forbidden where the caller may not change or delete documents of that owner."""
    require(principal, Action.WRITE)
    if owner == Owner():
        require(principal, Action.SHARE_DOCUMENTS)
    else:
        require_writable(principal, owner)


def default_owner(principal: Principal) -> Owner:
    """Whose a new memory is when nothing else is said: the caller's. Raises Forbidden where it acts for nobody."""
    if principal.user is None and principal.agent is None and principal.role is not Role.ADMIN:
        raise Forbidden("This key acts for nobody. Name the user it acts for.")
    return Owner(principal.user, principal.agent)


def usual_profile(principal: Principal) -> Owner:
    """The caller within its profile; a user that names none has the one of those who name none."""
    agent = principal.agent or (DEFAULT_PROFILE if principal.user is not None else None)
    return Owner(principal.user, agent)


def require_user(principal: Principal) -> None:
    """For doors whose memories are always one user's. Raises Forbidden where the caller acts for none."""
    if principal.user is None:
        raise Forbidden("These memories are one user's. Use a user's key, or name the user with X-Memorist-User.")


def require_all_profiles(principal: Principal) -> None:
    """Raises Forbidden where the credential is one agent's: what the user has with the others is not its to count or
    erase.
    """
    if principal.agent_bound and not allows(principal, Action.ADMINISTER):
        raise Forbidden(
            "This key is bound to an agent. Erasing everything of a user needs the user's own key; reset erases what "
            "the agent has."
        )


def user_in_scope(principal: Principal) -> str:
    """The user that the scope `user` is about. Raises InvalidField where the caller acts for none."""
    if principal.user is None:
        raise InvalidField(
            "scope user needs a user: use a user's key, or name one with X-Memorist-User.", field="scope"
        )
    return principal.user


def agent_in_scope(principal: Principal) -> str:
    """The agent that the scope `agent` is about. Raises InvalidField where there is none, and Forbidden where the
    caller merely names it.
    """
    if principal.agent is None:
        raise InvalidField(
            "scope agent needs an agent, and none is named here: use scope user, or name one with --agent or "
            "X-Memorist-Agent.",
            field="scope",
        )
    if not principal.agent_vouched:
        raise Forbidden(
            f"This key does not stand for the agent {principal.agent!r}, whose facts all of its users share. "
            "scope agent needs a key that is bound to the agent, or a service key."
        )
    return principal.agent


# Asked for every write, and decided by nothing but its arguments.
@lru_cache(maxsize=4096)
def writable_owner(principal: Principal, owner: Owner | None, *, named: bool = False) -> Owner:
    """Whose a new memory will be: the owner that is said, or the caller. `named`: it has a name, and so is of the
    profile of those who name none where the caller names none and may not share it with all.

    Raises InvalidField or Forbidden.
    """
    if named and owner is None and principal.user is not None and not allows(principal, Action.SHARE):
        owner = usual_profile(principal)
    owner = validation.owner(default_owner(principal) if owner is None else owner)
    require_writable(principal, owner)
    if named:
        require_nameable(principal, owner)
    return owner


def acting(
    principal: Principal,
    *,
    user: str | None = None,
    agent: str | None = None,
    session: str | None = None,
) -> Principal:
    """The principal that a credential becomes when a request names whom it acts for. Raises Forbidden."""
    if user is not None and user != principal.user and not _may_act_for_others(principal):
        raise Forbidden("This key acts for its own user only. Acting for another needs a service or admin key.")
    if agent is not None and principal.agent not in (None, agent) and not _impersonates(principal.role):
        raise Forbidden(f"This key is bound to the agent {principal.agent!r}.")
    is_own_agent = agent is None or agent == principal.agent
    return replace(
        principal,
        user=user or principal.user,
        agent=agent or principal.agent,
        session=session or principal.session,
        on_behalf=principal.on_behalf or user not in (None, principal.user),
        agent_vouched=principal.agent_vouched if is_own_agent else _may_act_for_others(principal),
    )


def handing_out(principal: Principal, user: str, agent: str | None = None) -> Principal:
    """Whom a token of that user will stand for. Raises Forbidden where the caller's credential gives out none."""
    if not _impersonates(principal.role):
        raise Forbidden("Only service and admin keys give out and revoke tokens of users.")
    return acting(principal, user=user, agent=agent)


def in_profile(principal: Principal) -> Principal:
    """The caller within one profile: what it keeps there is not mixed with other profiles of the same user."""
    return principal if principal.agent is not None else acting(principal, agent=DEFAULT_PROFILE)


def _may_act_for_others(principal: Principal) -> bool:
    # A reader bound to nobody reads on behalf of whom it names.
    return _impersonates(principal.role) or (principal.role is Role.READER and principal.user is None)


def _impersonates(role: Role) -> bool:
    return role in (Role.ADMIN, Role.SERVICE)
