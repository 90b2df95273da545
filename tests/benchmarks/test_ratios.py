"""The loops that Memorist is compared with write what it writes."""

from pathlib import Path

from memorist_bench.ratios.bare import BareStore, bare_row, bare_write


def test_bare_loop_writes_a_row_and_its_entry_of_the_index(tmp_path: Path) -> None:
    store = BareStore(tmp_path / "memorist.db")
    store.write(bare_write("Ada drinks green tea."))
    count = store.connection.execute("SELECT count(*) FROM memories JOIN memory_index ON memory_id = id").fetchone()
    store.close()
    assert count == (1,)
    assert bare_row("text")["governed_by"] == "native"
