"""Documents age with their chunks: what is purged of a document is not read in its text either."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from memorist.core import Core
from memorist.erasure.ledger import ledger_lines
from memorist.errors import IllegalTransition, NotFound
from memorist.ingestion.values import Document
from memorist.memories.sweeper import Sweep
from memorist.memories.values import Memory, Status
from memorist.platform.values import Principal
from memorist.testing import FrozenClock, new_tenant

SECTIONS = [f"# Part {name}\n\n" + f"The {name} earns 4711 a month. " * 600 for name in ("alpha", "beta", "gamma")]


@pytest.fixture
def paper(core: Core, ada: Principal) -> Document:
    stored = core.ingestion.add_document(ada, title="Payroll", content="\n\n".join(SECTIONS)).document
    assert stored.chunks >= len(SECTIONS)
    return stored


def chunks_of(core: Core, ada: Principal, paper: Document) -> list[Memory]:
    return core.store.read(ada.tenant, lambda tx: tx.documents.chunks_of(paper))


def age(clock: FrozenClock, sweep: Callable[[], Sweep]) -> None:
    """Through the archive and the grace to the end."""
    for days in (91, 61, 8, 1):
        clock.advance(timedelta(days=days))
        sweep()


def purge(core: Core, ada: Principal, chunks: Sequence[Memory], clock: FrozenClock, sweep: Callable[[], Sweep]) -> None:
    for chunk in chunks:
        core.memories.forget(ada, chunk.id)
    for days in (8, 1):
        clock.advance(timedelta(days=days))
        sweep()


def test_document_goes_with_its_last_chunk_and_can_be_uploaded_again(
    core: Core, ada: Principal, admin: Principal, clock: FrozenClock,
    paper: Document, sweep: Callable[[], Sweep], enforce: Callable[..., None],
) -> None:  # fmt: skip
    enforce()
    age(clock, sweep)
    with pytest.raises(NotFound):
        core.ingestion.get_document(ada, paper.id)
    (receipt,) = core.erasure.receipts(admin)
    assert (receipt.counts["documents"], receipt.counts["memories"]) == (1, paper.chunks)
    clock.advance(timedelta(seconds=1))
    again = core.ingestion.add_document(ada, title="Payroll", content=paper.content, document_id=paper.id)
    assert (again.was_new, again.changed) == (True, True)
    assert len(chunks_of(core, ada, again.document)) == paper.chunks
    clock.advance(timedelta(days=2))
    (done,) = core.erasure.resume(ada.tenant)
    assert done.verification is not None
    assert done.verification.ok
    # An import knows it from what was erased.
    exported = list(core.transfer.export(ada))
    core.erasure.reset(ada)
    list(core.transfer.import_(ada, exported))
    assert core.ingestion.get_document(ada, paper.id) == again.document


def test_of_a_document_whose_chunk_is_purged_the_rest_stays_where_it_was(
    core: Core, ada: Principal, clock: FrozenClock,
    paper: Document, sweep: Callable[[], Sweep], enforce: Callable[..., None],
) -> None:  # fmt: skip
    enforce()
    before = chunks_of(core, ada, paper)
    gone = [one for one in before if "alpha" in one.content]
    purge(core, ada, gone, clock, sweep)
    left = core.ingestion.get_document(ada, paper.id)
    assert "alpha" not in left.content
    assert (left.chunks, len(left.content)) == (paper.chunks - len(gone), len(paper.content))
    for chunk in chunks_of(core, ada, paper):
        assert chunk.meta is not None
        assert left.content[chunk.meta["start"] : chunk.meta["end"]] == chunk.content
    again = core.ingestion.add_document(ada, title="Payroll", content=paper.content)
    assert (again.document.id, again.was_new, again.changed) == (paper.id, False, True)
    assert len(chunks_of(core, ada, paper)) == paper.chunks


def test_purge_of_an_older_version_leaves_the_document(
    core: Core, ada: Principal, clock: FrozenClock,
    paper: Document, sweep: Callable[[], Sweep], enforce: Callable[..., None],
) -> None:  # fmt: skip
    enforce()
    clock.advance(timedelta(days=1))
    newer = core.ingestion.add_document(ada, title="Payroll", content=paper.content + "\n\n# Part delta\n\nNew.")
    purge(core, ada, [], clock, sweep)
    assert core.ingestion.get_document(ada, paper.id) == newer.document


def test_chunk_comes_back_to_its_document_and_not_without_it(core: Core, ada: Principal, paper: Document) -> None:
    first, *_ = chunks_of(core, ada, paper)
    core.memories.forget(ada, first.id)
    assert core.retention.restore(ada, first.id).id in {one.id for one in chunks_of(core, ada, paper)}
    core.retention.archive(ada, first.id)
    core.ingestion.forget_document(ada, paper.id)
    for chunk in (first, *core.memories.list(ada, status=Status.SOFT_DELETED).items):
        with pytest.raises(IllegalTransition, match="Add the document again"):
            core.retention.restore(ada, chunk.id)
    assert core.memories.list(ada).items == ()
    assert core.ingestion.add_document(ada, title="Payroll", content=paper.content, document_id=paper.id).was_new
    assert core.memories.list(ada).items != ()


def in_another_tenant(core: Core, ada: Principal) -> Principal:
    return replace(ada, tenant=core.identity.create_tenant(new_tenant())[0].id)


def tell_what_was_erased(core: Core, ada: Principal, there: Principal, clock: FrozenClock) -> None:
    """Finish what is due of ada's, and apply the ledger in the other tenant."""
    clock.advance(timedelta(days=2))
    core.erasure.resume(ada.tenant)
    core.erasure.apply([line.replace(ada.tenant, there.tenant) for line in ledger_lines(core.store, ada.tenant)])


def test_ledger_takes_the_same_out_of_a_document_elsewhere(
    core: Core, ada: Principal, clock: FrozenClock,
    paper: Document, sweep: Callable[[], Sweep], enforce: Callable[..., None],
) -> None:  # fmt: skip
    enforce()
    exported = list(core.transfer.export(ada))
    purge(core, ada, [one for one in chunks_of(core, ada, paper) if "alpha" in one.content], clock, sweep)
    left = core.ingestion.get_document(ada, paper.id)
    there = in_another_tenant(core, ada)
    list(core.transfer.import_(there, exported))
    assert core.ingestion.get_document(there, paper.id) == paper
    tell_what_was_erased(core, ada, there, clock)
    assert core.ingestion.get_document(there, paper.id) == left


def test_import_brings_no_text_of_chunks_that_were_purged_here(
    core: Core, ada: Principal, clock: FrozenClock,
    paper: Document, sweep: Callable[[], Sweep], enforce: Callable[..., None],
) -> None:  # fmt: skip
    enforce()
    exported = list(core.transfer.export(ada))
    purge(core, ada, [one for one in chunks_of(core, ada, paper) if "alpha" in one.content], clock, sweep)
    left = core.ingestion.get_document(ada, paper.id)
    core.ingestion.forget_document(ada, paper.id)
    list(core.transfer.import_(ada, exported))
    assert core.ingestion.get_document(ada, paper.id) == left
    # The same elsewhere, once it is known there; a long export comes in parts.
    there = in_another_tenant(core, ada)
    tell_what_was_erased(core, ada, there, clock)
    for part in (exported[:-2], [exported[0], *exported[-2:]]):
        list(core.transfer.import_(there, part))
    assert core.ingestion.get_document(there, paper.id) == left


def test_import_brings_no_document_all_of_whose_chunks_were_purged_here(
    core: Core, ada: Principal, clock: FrozenClock,
    paper: Document, sweep: Callable[[], Sweep], enforce: Callable[..., None],
) -> None:  # fmt: skip
    enforce()
    exported = list(core.transfer.export(ada))
    core.ingestion.forget_document(ada, paper.id)
    purge(core, ada, [], clock, sweep)
    *_, report = core.transfer.import_(ada, exported)
    assert (report.imported, report.erased) == (0, paper.chunks)
    with pytest.raises(NotFound):
        core.ingestion.get_document(ada, paper.id)


def test_document_that_lost_a_secret_on_its_way_here_is_cut_where_its_chunks_are_now(
    core: Core, ada: Principal, clock: FrozenClock, sweep: Callable[[], Sweep], enforce: Callable[..., None]
) -> None:
    """The redacted text is shorter, while the chunks still name places of the longer one."""
    enforce()
    there = in_another_tenant(core, ada)
    sections = [
        f"# Part {name}\n\n" + " ".join(f"In month {month} the {name} earns 4711." for month in range(600))
        for name in ("alpha", "beta", "gamma")
    ]
    text = "\n\n".join(sections).replace("month 0 the alpha", "month 0 PLACE the alpha")
    paper = core.ingestion.add_document(there, title="Payroll", content=text, media_type="text/markdown").document
    # In the format of a provider.
    token = "ghp_" + "A1b2" * 9
    list(core.transfer.import_(ada, [line.replace("PLACE", token) for line in core.transfer.export(there)]))
    before = core.ingestion.get_document(ada, paper.id)
    assert token not in before.content
    assert len(before.content) != len(text)
    purge(core, ada, [one for one in chunks_of(core, ada, paper) if "beta" in one.content], clock, sweep)
    left = core.ingestion.get_document(ada, paper.id)
    assert "beta" not in left.content
    for name in ("alpha", "gamma"):
        assert left.content.count(name) == before.content.count(name)
    assert all(chunk.content in left.content for chunk in chunks_of(core, ada, paper))


@pytest.mark.parametrize("retire", ["forget", "archive"])
def test_document_whose_chunks_are_out_of_use_is_stored_anew(core: Core, ada: Principal, retire: str) -> None:
    paper = core.ingestion.add_document(ada, title="Payroll", content="\n\n".join(SECTIONS)).document
    chunk = chunks_of(core, ada, paper)[0]
    getattr(core.memories if retire == "forget" else core.retention, retire)(ada, chunk.id)
    again = core.ingestion.add_document(ada, title="Payroll", content=paper.content)
    assert (again.document.id, again.was_new, again.changed) == (paper.id, False, True)
    assert chunks_of(core, ada, paper)[0].content == chunk.content
    assert len(chunks_of(core, ada, paper)) == paper.chunks
    same = core.ingestion.add_document(ada, title="Payroll", content=paper.content)
    assert (same.was_new, same.changed) == (False, False)
