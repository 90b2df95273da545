"""The oracle of isolation: who may see and change what, told again and apart from the policy layer it checks."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorist.core import Core
from memorist.platform.values import Role
from memorist.store.sql_store import SqlStore

USERS = ["ada", "bob", "eve"]
AGENTS = ["coder", "finance"]
MARK = re.compile(r"OWNED-BY\[(?P<tenant>[^/\]]*)/(?P<user>[^/\]]*)/(?P<agent>[^/\]]*)\](@(?P<session>\w+))?")

Owned = tuple[int, str, str]


def mark(tenant: str, user: str | None, agent: str | None, said_in: str | None = None) -> str:
    """A text that says whose it is, wherever it turns up, and in which session it was said."""
    return f"OWNED-BY[{tenant}/{user or ''}/{agent or ''}]" + (f"@{said_in}" if said_in else "")


@dataclass(frozen=True)
class Who:
    """A credential and whom it acts for, as the oracle sees it."""

    tenant: int
    role: Role
    bound_user: str | None
    bound_agent: str | None
    header_user: str | None
    header_agent: str | None
    by_token: bool = False
    """Whether it is a user's token instead of a key: it may do what a key of the same role may."""

    @property
    def user(self) -> str | None:
        return self.header_user or self.bound_user

    @property
    def agent(self) -> str | None:
        return self.header_agent or self.bound_agent

    @property
    def is_allowed(self) -> bool:
        """Whether this credential may act for those it names."""
        if self.role in (Role.ADMIN, Role.SERVICE):
            return True
        user_is_own = self.header_user in (None, self.bound_user) or (
            self.role is Role.READER and self.bound_user is None
        )
        return user_is_own and (self.bound_agent is None or self.header_agent in (None, self.bound_agent))

    @property
    def stands_for_its_agent(self) -> bool:
        """Whether the credential, and not only a header, speaks for the agent."""
        acts_for_any = self.role in (Role.ADMIN, Role.SERVICE) or (self.role is Role.READER and self.bound_user is None)
        return acts_for_any or self.agent == self.bound_agent

    def may_see(self, tenant: int, user: str, agent: str) -> bool:
        if not self.is_allowed or tenant != self.tenant:
            return False
        if self.user is None and self.role is Role.ADMIN:
            return self.agent is None or agent in ("", self.agent)
        if user == "":
            return agent == "" or (agent == self.agent and self.stands_for_its_agent)
        return user == self.user and (self.agent is None or agent in ("", self.agent))

    def talks_in(self, tenant: int, user: str, agent: str) -> bool:
        """Whether what was said to that agent is of the same conversation, where it was said in the same session."""
        is_own = self.is_allowed and tenant == self.tenant and user == self.user != ""
        return is_own and (self.bound_agent is None or agent in ("", self.agent))

    def is_shown(self, tenant: int, user: str, agent: str) -> bool:
        """Whether it comes without being named: where no agent is, no agent's."""
        return self.may_see(tenant, user, agent) and not (self.user is not None and self.agent is None and agent != "")

    def may_write(self, tenant: int, user: str, agent: str) -> bool:
        writes = self.role is not Role.READER
        shared = user == "" and agent == ""
        return writes and self.may_see(tenant, user, agent) and (not shared or self.role is Role.ADMIN)


@st.composite
def who(draw: st.DrawFn) -> Who:
    role = draw(st.sampled_from(Role))
    bound_user = draw(st.sampled_from(USERS if role is Role.USER else [None, *USERS]))
    maybe_agent = st.sampled_from([None, *AGENTS])
    maybe_user = st.sampled_from([None, None, *USERS])
    by_token = role in (Role.USER, Role.READER) and bound_user is not None and draw(st.booleans())
    tenant = draw(st.integers(0, 1))
    return Who(tenant, role, bound_user, draw(maybe_agent), draw(maybe_user), draw(maybe_agent), by_token)


def assert_nothing_leaked(caller: Who, tenants: list[str], shown: str, session: str | None = None) -> None:
    """Every mark in what was shown is of somebody whom the caller may see, or of the conversation that it is in."""
    for found in MARK.finditer(shown):
        owner = (tenants.index(found["tenant"]), found["user"], found["agent"])
        is_turn = session is not None and found["session"] == session and caller.talks_in(*owner)
        assert is_turn or caller.may_see(*owner), f"{caller} was shown a row of {owner}"


def walk_often(core: Core, times: int, walk: Callable[..., None], **plans: st.SearchStrategy[Any]) -> None:
    """Walk by that many random plans, and on PostgreSQL by the first third of them.

    Who may see what is decided above the database, and the same plans find it on either; a call takes PostgreSQL thrice
    as long. Its statements and its policies have tests of their own.
    """
    assert isinstance(core.store, SqlStore)
    count = times if core.store.driver.dialect == "sqlite" else -(-times // 3)
    settings(max_examples=count, suppress_health_check=list(HealthCheck))(given(**plans)(walk))()
