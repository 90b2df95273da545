"""Every list walks one index in its order: the cost of a page does not grow with the table."""

import re
from pathlib import Path

import pytest

from memorist.bootstrap import open_store
from memorist.store.drivers import Connection
from memorist.store.statements import SqlStatement, load_statements
from memorist.testing.clocks import START
from tests.support.stores import bare

INDEXES = {
    f"list_{listed}_of_{breadth}": f"memories_{index}_of_{breadth}"
    for listed, index in (("newest", "newest"), ("named_newest", "named_newest"), ("named_importance", "important"))
    for breadth in ("owner", "user", "tenant")
} | {
    "list_category_of_user": "memories_of_category",
    "list_recalled_of_user": "recalls_of_user",
    "list_recalled_of_tenant": "recalls_by_time",
}
MOVES = ("memories_due", "memories_expiring", "memories_retired")


def test_every_list_has_its_index_here() -> None:
    listed = {name for name in load_statements("sqlite") if re.match(r"list_\w+_of_(owner|user|tenant)$", name)}
    assert set(INDEXES) == listed


@pytest.mark.parametrize(("name", "index"), INDEXES.items())
@pytest.mark.parametrize("analyzed", [False, True])
def test_list_walks_its_index_without_sorting(tmp_path: Path, name: str, index: str, analyzed: bool) -> None:
    plan = plan_of(tmp_path, name, analyzed=analyzed)
    assert len(plan) == 1, plan
    assert re.search(rf"USING INDEX {index} ", plan[0]), plan


@pytest.mark.parametrize("breadth", ["user", "tenant"])
def test_what_comes_next_is_found_by_its_deadlines(tmp_path: Path, breadth: str) -> None:
    for name in ("next_moves_of", "count_moves_of"):
        plan = plan_of(tmp_path, f"{name}_{breadth}", analyzed=False)
        walked = [step for step in plan if "memories" in step]
        names = [f"{index}_of_user" if breadth == "user" else index for index in MOVES]
        assert [re.findall(r"SEARCH memories USING INDEX (\w+) ", step) for step in walked] == [[one] for one in names]


def test_document_is_found_by_the_beginning_of_its_title(tmp_path: Path) -> None:
    walked = [step for step in plan_of(tmp_path, "find_document", analyzed=False) if "documents" in step]
    owner = "tenant_id=? AND user_id=? AND agent_id=?"
    assert walked == [f"SEARCH documents USING INDEX documents_by_title ({owner} AND <expr>=?)"]


def plan_of(tmp_path: Path, name: str, *, analyzed: bool) -> list[str]:
    store = open_store(bare(str(tmp_path / "memorist.db")))
    store.migrator.migrate(START)
    statement = load_statements("sqlite")[name]
    explain = SqlStatement("explain", "", f"EXPLAIN QUERY PLAN {statement.sql}", statement.parameters)

    def work(connection: Connection) -> list[str]:
        if analyzed:
            connection.script("ANALYZE")
        return [row[3] for row in connection.rows(explain, dict.fromkeys(statement.parameters, "x"))]

    plan = store.driver.write(None, work)
    store.close()
    return plan
