"""Statements on one connection of PostgreSQL: in the transaction that is open, or each in one of its own."""

import re
from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from hashlib import blake2b
from typing import Any

import psycopg
from psycopg import sql
from psycopg.abc import PQGen
from psycopg_pool import ConnectionPool

from memorist.store.drivers import Parameters, Row, Values
from memorist.store.statements import SqlStatement

_KEPT_AFTER = 5
"""A plan is kept for what a connection was asked so often by one tenant."""

_KEPT_FOR_ALL_AFTER = 64
"""One for every tenant, where it was asked so often by tenants that have none of their own: it takes many times as long
to make, since it is of all partitions, and a little longer to run.
"""

_MOST_PLANS = 256
"""Plans that a connection keeps, of those used last."""

_MOST_COUNTED = 4096
"""Statements of which a connection knows how often they were asked, those of each tenant by themselves."""

BY_INDEX = "SET LOCAL enable_seqscan = off"
"""A plan that is kept outlives what the tables held when it was made: one that walks an index is never far wrong."""

_BY_KEPT_PLAN = "SET LOCAL plan_cache_mode = force_generic_plan"
_AS_BEFORE = "SET LOCAL plan_cache_mode TO DEFAULT"

_TENANT = "tenant"
_PARAMETER = re.compile(r"%%|%\((\w+)\)s")
_NUMBERED = re.compile(r"\$(\d+)")
_INSERTED = re.compile(r"(?<=\bVALUES )(\([^()]*\))")

_TOGETHER = (64, 16, 4, 1)
"""So many rows go into one statement. Few sizes, so that each is soon prepared."""

# It was prepared on another connection of a proxy's, or dropped.
LOST = (psycopg.errors.InvalidSqlStatementName, psycopg.errors.DuplicatePreparedStatement)


class PooledConnection(psycopg.Connection[Any]):
    """A connection that knows which statements the server has a plan of."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.keeps_plans = True
        """Whether that can be known: not through a proxy that lends the server's connections in turn."""
        self.plans = _Plans()
        self.prepared_max = _MOST_PLANS

    def look_for_a_proxy(self) -> None:
        """Prepare nothing where a proxy lies between, which has a number of its own: it may lend another connection of
        the server's for each transaction, where a statement is missing, or another is prepared by the same name.
        """
        answer = self.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
        if answer != (self.info.backend_pid,):
            self.prepare_nothing()

    def prepare_nothing(self) -> None:
        """From now on, neither here nor by psycopg."""
        self.keeps_plans = False
        self.prepare_threshold = None

    def execute_all(self, commands: Sequence[str]) -> None:
        """Some commands without answers, waiting once for all of them."""
        if len(commands) == 1:
            self.execute(commands[0])
            return
        with self.pipeline():
            for command in commands:
                self.execute(command, prepare=False)

    def _deallocate(self, name: bytes | None) -> PQGen[None]:
        # psycopg has the server drop everything that is prepared, as after some rollbacks, and knows of its own alone.
        if name is None:
            self.plans.forget()
        yield from super()._deallocate(name)


class LastUsedFirst(ConnectionPool[PooledConnection]):
    """A pool that lends the connection that was given back last, not each in turn: few of many get to know the tables
    and keep plans, and what they know stays in the caches of the processor.
    """

    def __init__(self, url: str, **named: Any) -> None:
        super().__init__(url, connection_class=PooledConnection, open=False, **named)
        self._pool = _Stack()
        self.open()


class _Stack(deque[PooledConnection]):
    """What the pool takes from the left is what it put at the right last."""

    def append(self, connection: PooledConnection, /) -> None:
        self.appendleft(connection)


class _Plans:
    """Which statements the server has a plan of for us, and how often others were asked; both by their text."""

    def __init__(self) -> None:
        self._asked: OrderedDict[str, int] = OrderedDict()
        self._kept: OrderedDict[str, str] = OrderedDict()

    def find(self, text: str) -> str:
        """What executes a statement by its plan; '' where there is none."""
        if text not in self._kept:
            return ""
        self._kept.move_to_end(text)
        return self._kept[text]

    def count(self, text: str) -> int:
        """Count that it was asked once more."""
        count = self._asked[text] = self._asked.pop(text, 0) + 1
        if len(self._asked) > _MOST_COUNTED:
            self._asked.popitem(last=False)
        return count

    def are_kept(self) -> bool:
        return bool(self._kept)

    def forget(self) -> None:
        """Believe none to be there. What was refused stays counted, lest it is tried again."""
        self._kept.clear()

    def keep(self, text: str, executing: str) -> str:
        """Note a plan. Returns the text of one that is too many now, or ''."""
        self._kept[text] = executing
        self._asked.pop(text, None)
        return self._kept.popitem(last=False)[0] if len(self._kept) > _MOST_PLANS else ""


class PostgresConnection:
    """Runs statements on one psycopg connection."""

    __slots__ = ("_connection",)

    def __init__(self, connection: PooledConnection) -> None:
        self._connection = connection

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        # None leaves it to psycopg, which prepares what it sees often; a prepared plan may be kept for all values.
        prepare = False if statement.planned_anew or statement.by_index else None
        text = self._text(statement, parameters)
        return self._connection.execute(text, parameters, prepare=prepare, binary=statement.in_binary).fetchall()

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Parameters]) -> list[list[Row]]:
        return [self.rows(statement, one) for one in parameters]

    def run(self, statement: SqlStatement, parameters: Parameters | Values) -> int:
        given = _by_name(statement, parameters)
        return self._connection.execute(self._text(statement, given), given).rowcount

    def run_many(self, statement: SqlStatement, parameters: Sequence[Parameters | Values]) -> int:
        if not parameters:
            return 0
        if statement.together:
            return self._insert_together(statement, parameters)
        given = [_by_name(statement, one) for one in parameters]
        with self._connection.cursor() as cursor:
            cursor.executemany(self._text(statement, given[0]), given)
            return cursor.rowcount

    def _text(self, statement: SqlStatement, parameters: Parameters) -> str:  # noqa: ARG002
        """What is sent, with these parameters and others of the same tenant."""
        return statement.sql

    def _insert_together(self, statement: SqlStatement, parameters: Sequence[Parameters | Values]) -> int:
        """Fewer statements than rows: a cluster sends each of them on to another node."""
        writer = psycopg.RawCursor(self._connection)
        together = _some_at_once(statement, parameters)
        return sum(writer.execute(_inserting(statement, size), values).rowcount for size, values in together)

    def script(self, text: str) -> None:
        for command in postgres_commands(text):
            self._connection.execute(command)


class GlobalConnection(PostgresConnection):
    """Reads what is no tenant's, outside of any transaction: so what was prepared, and is lost, can be asked again."""

    __slots__ = ()

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        try:
            return super().rows(statement, parameters)
        except LOST:
            self._connection.prepare_nothing()
            return super().rows(statement, parameters)


class _PlanningConnection(PostgresConnection):
    """Has the server keep plans, where it can be known which it has."""

    __slots__ = ()

    def _kept(self, of_tenant: SqlStatement, statement: SqlStatement) -> str:
        """What executes a statement by a plan that is kept, for its tenant or for all; '' where none is."""
        if not self._connection.keeps_plans or (statement.planned_anew and not statement.by_index):
            return ""
        found = self._kept_after(_KEPT_AFTER, of_tenant)
        return found or ("" if of_tenant is statement else self._kept_after(_KEPT_FOR_ALL_AFTER, statement))

    def _kept_after(self, often: int, statement: SqlStatement) -> str:
        plans = self._connection.plans
        if found := plans.find(statement.sql):
            return found
        return self._keep(statement) if plans.count(statement.sql) == often else ""

    def _keep(self, statement: SqlStatement) -> str:
        """Have it planned, within a savepoint where a transaction is open: what is refused would end that, too."""
        name = _plan_name(statement.sql)
        slots = ", ".join(f"%({one})s" for one in statement.parameters)
        executing = f"EXECUTE {name} ({slots})" if slots else f"EXECUTE {name}"
        try:
            with self._connection.transaction():
                self._connection.execute(f"PREPARE {name} AS {_numbered(statement)}", prepare=False)
                if excess := self._connection.plans.keep(statement.sql, executing):
                    self._connection.execute(f"DEALLOCATE {_plan_name(excess)}", prepare=False)
        except (psycopg.errors.SyntaxErrorOrAccessRuleViolation, *LOST):
            return ""  # Such as one whose parameters have no type of their own.
        return executing


class PartitionConnection(_PlanningConnection):
    """Runs the statements of a transaction with its tenant's name written into them, and not bound.

    A server keeps no plan of a statement that may be about any tenant: one of all partitions looks dear to it, so that
    it plans each time, for longer than it then runs. Of one partition it keeps what psycopg prepares, unless it expects
    less of a plan for the values: it is told to where a statement is to walk an index.
    """

    __slots__ = ()

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        kept = self._kept(_of_tenant(statement, parameters), statement) if statement.by_index else ""
        if not kept:
            return super().rows(statement, parameters)
        asked = psycopg.ClientCursor(self._connection).mogrify(kept, parameters)
        answer = self._connection.execute("; ".join([_BY_KEPT_PLAN, asked, _AS_BEFORE]), prepare=False)
        return _all_rows(answer)[0]

    def _text(self, statement: SqlStatement, parameters: Parameters) -> str:
        return _of_tenant(statement, parameters).sql


class AloneConnection(_PlanningConnection):
    """Reads with each statement in a transaction of its own, which takes one message to the server instead of three.

    A message of several statements can bind no parameters, so they are written into it, escaped by psycopg. What is
    asked often is prepared: on tables of many partitions, planning takes several times as long as the rest.
    """

    __slots__ = ("_opening",)

    def __init__(self, connection: PooledConnection, opening: Sequence[str]) -> None:
        super().__init__(connection)
        self._opening = opening

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        return self.rows_of_each(statement, [parameters])[0]

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Parameters]) -> list[list[Row]]:
        if not parameters:
            return []
        writer = psycopg.ClientCursor(self._connection)
        of_tenant = _of_tenant(statement, parameters[0])
        if kept := self._kept(of_tenant, statement):
            try:
                return self._answers([BY_INDEX, _BY_KEPT_PLAN, *(writer.mogrify(kept, one) for one in parameters)])
            except LOST:
                self._connection.keeps_plans = False
        return self._answers([writer.mogrify(of_tenant.sql, one) for one in parameters])

    def _answers(self, asked: Sequence[str]) -> list[list[Row]]:
        try:
            answer = self._connection.execute("; ".join([*self._opening, *asked, "COMMIT"]), prepare=False)
            return _all_rows(answer)
        except psycopg.Error:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")
            raise


class PipelinedConnection(PostgresConnection):
    """The same for Citus, which takes one statement a message: all are sent before the first answer is waited for."""

    __slots__ = ("_opening",)

    def __init__(self, connection: PooledConnection, opening: Sequence[str]) -> None:
        super().__init__(connection)
        self._opening = opening

    def rows(self, statement: SqlStatement, parameters: Parameters) -> list[Row]:
        return self.rows_of_each(statement, [parameters])[0]

    def rows_of_each(self, statement: SqlStatement, parameters: Sequence[Parameters]) -> list[list[Row]]:
        prepare = False if statement.planned_anew or statement.by_index else None
        try:
            with self._connection.pipeline():
                for command in self._opening:
                    self._connection.execute(command, prepare=False)
                asked = [
                    self._connection.execute(statement.sql, one, prepare=prepare, binary=statement.in_binary)
                    for one in parameters
                ]
                self._connection.execute("COMMIT", prepare=False)
            return [answer.fetchall() for answer in asked]
        except psycopg.Error:
            if not self._connection.closed:
                self._connection.execute("ROLLBACK")
            raise


def postgres_commands(script: str) -> list[str]:
    """A script's commands: Citus takes one at a time. Ours end with a semicolon at the end of a line."""
    lines = [line for line in script.splitlines() if not line.lstrip().startswith("--")]
    return [command for command in re.split(r";\s*$", "\n".join(lines), flags=re.MULTILINE) if command.strip()]


def _numbered(statement: SqlStatement) -> str:
    """A statement with numbers for its parameters, in their order."""
    slots = {one: f"${number}" for number, one in enumerate(statement.parameters, start=1)}
    return _PARAMETER.sub(lambda found: slots[found[1]] if found[1] else "%", statement.sql)


def _plan_name(text: str) -> str:
    # Named by what it says: a proxy may hand us what another release has prepared.
    return f"memorist_{blake2b(text.encode(), digest_size=16).hexdigest()}"


def _of_tenant(statement: SqlStatement, parameters: Parameters) -> SqlStatement:
    """The same for one tenant, where the server plans it for each: what inserts is not planned by partition."""
    if _TENANT not in statement.parameters or statement.planned_anew or statement.sql.startswith("INSERT"):
        return statement
    return _written_for(statement, parameters[_TENANT])


@lru_cache(_MOST_COUNTED)
def _written_for(statement: SqlStatement, tenant: str) -> SqlStatement:
    name = sql.Literal(tenant).as_string().replace("%", "%%")
    others = tuple(one for one in statement.parameters if one != _TENANT)
    return replace(statement, sql=statement.sql.replace(f"%({_TENANT})s", name), parameters=others, seals=())


@cache
def _inserting(statement: SqlStatement, rows: int) -> str:
    """The same for so many rows at once, whose values come one row after the other."""
    before, values, after = _INSERTED.split(_numbered(statement))
    each = len(statement.parameters)
    numbered = (_NUMBERED.sub(lambda found: f"${int(found[1]) + row * each}", values) for row in range(rows))  # noqa: B023
    return f"{before}{', '.join(numbered)}{after}"


def _some_at_once(statement: SqlStatement, rows: Sequence[Parameters | Values]) -> Iterator[tuple[int, list[Any]]]:
    """So many rows, and the values of all of them, until there are none left."""
    values = [one if isinstance(one, tuple) else [one[name] for name in statement.parameters] for one in rows]
    start = 0
    for size in _TOGETHER:
        while start + size <= len(values):
            yield size, [value for one in values[start : start + size] for value in one]
            start += size


def _all_rows(answer: psycopg.Cursor[Any]) -> list[list[Row]]:
    """Those of each of several statements that has any."""
    return [result.fetchall() for result in answer.results() if _has_rows(result)]


def _has_rows(result: psycopg.Cursor[Any]) -> bool:
    # Asking for its `description` would make an object of each column.
    return result.pgresult is not None and result.pgresult.status == psycopg.pq.ExecStatus.TUPLES_OK


def _by_name(statement: SqlStatement, parameters: Parameters | Values) -> Parameters:
    return dict(zip(statement.parameters, parameters, strict=True)) if isinstance(parameters, tuple) else parameters
