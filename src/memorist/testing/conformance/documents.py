"""What every store must do for documents and tool outputs."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

from memorist.ingestion.values import Document, DocumentPosition
from memorist.memories.values import Kind, Memory, Status
from memorist.platform.values import Owner, OwnerFilter
from memorist.ports import Store, Writer
from memorist.testing.clocks import START
from memorist.testing.conformance.fixtures import StoreFixtures
from memorist.testing.conformance.helpers import EVERYBODY, documents_of, index_rows, insert, put_document
from memorist.testing.makers import make_document, make_memory


class DocumentConformance(StoreFixtures):
    """`tx.documents`: texts that were uploaded whole."""

    def test_document_comes_back_as_written_and_is_written_over(self, store: Store, tenant: str) -> None:
        for owner in (Owner("ada"), Owner("ada", "coder"), Owner()):
            document = make_document(owner=owner, content="ответ 🚀" * 1000)
            put_document(store, tenant, document)
            assert store.read(tenant, lambda tx: tx.documents.get(owner, document.id)) == document
            newer = replace(document, content="new", chunks=7, updated_at=START + timedelta(days=1))
            put_document(store, tenant, newer)
            assert store.read(tenant, lambda tx: tx.documents.get(owner, document.id)) == newer
            assert store.write(tenant, lambda tx: tx.documents.lock(owner, document.id)) == newer
            assert store.read(tenant, lambda tx: tx.documents.find_titled(owner, document.title)) == newer
            assert store.read(tenant, lambda tx: tx.documents.find_titled(Owner("eve"), document.title)) is None
            assert store.read(tenant, lambda tx: tx.documents.get(Owner("eve"), document.id)) is None
            assert store.write(tenant, lambda tx: tx.documents.lock(Owner("eve"), document.id)) is None

    def test_document_is_found_by_a_title_of_any_length(self, store: Store, tenant: str) -> None:
        # In many bytes, which cannot be packed: what an index holds of a row is bounded.
        scattered = "".join(chr(0x20000 + number * 7919 % 40_000) for number in range(500))
        owner = Owner(scattered[:128], scattered[-128:])
        documents = [make_document(owner=owner, title=scattered[:-1] + end) for end in ("a", "b")]
        for document in documents:
            put_document(store, tenant, document)
        titles = [*(document.title for document in documents), scattered[:64]]
        found = store.read(tenant, lambda tx: [tx.documents.find_titled(owner, title) for title in titles])
        assert found == [*documents, None]

    def test_name_of_a_document_is_held_by_one_at_a_time_whether_there_is_one_or_not(
        self, store: Store, tenant: str
    ) -> None:
        has_it = threading.Event()

        def second(tx: Writer) -> None:
            tx.documents.hold(Owner("ada"), title="Diary")
            has_it.set()

        def first(tx: Writer) -> Future[None]:
            tx.documents.hold(Owner("ada"), title="Diary")
            other = threads.submit(store.write, tenant, second)
            assert not has_it.wait(0.1)
            return other

        with ThreadPoolExecutor(1) as threads:
            store.write(tenant, first).result(20)
        assert has_it.is_set()

    def test_documents_of_a_slice_are_listed_in_pieces(self, store: Store, tenant: str) -> None:
        owners = (Owner("ada"), Owner("ada", "coder"), Owner("bob"), Owner())
        documents = [make_document(owner=owner) for owner in owners for _ in range(3)]
        shared = [make_document(owner=owner, id="manual") for owner in owners]
        for document in documents + shared:
            put_document(store, tenant, document)
        for part in (EVERYBODY, OwnerFilter("ada", any_agent=True), OwnerFilter("ada"), OwnerFilter()):
            expected = [one for one in documents + shared if part.matches(one.owner)]
            found = documents_of(store, tenant, part, 2)
            assert sorted(found, key=_document_key) == sorted(expected, key=_document_key)
            assert [one.id for one in found] == sorted(one.id for one in expected)
            latest = store.read(tenant, lambda tx: tx.documents.latest(part, None, 99))
            assert latest == [replace(one, content="") for one in reversed(found)]
            middle = DocumentPosition(latest[1].id, latest[1].owner)
            assert store.read(tenant, lambda tx: tx.documents.latest(part, middle, 2)) == latest[2:4]
            one = store.read(tenant, lambda tx: tx.documents.find(part, "manual"))
            assert one in expected
        documents += [make_document(owner=Owner(), id=name) for name in ("~draft", "отчёт", "報告", "\U0010ffff" * 128)]
        assert store.read(tenant, lambda tx: tx.documents.find(OwnerFilter("eve"), "manual")) is None

    def test_erased_document_is_gone_and_others_stay(self, store: Store, tenant: str) -> None:
        gone, stays = (make_document(owner=owner, id="manual") for owner in (Owner("ada"), Owner("ada", "coder")))
        for document in (gone, stays):
            put_document(store, tenant, document)
        store.write(tenant, lambda tx: tx.documents.erase(gone))
        assert documents_of(store, tenant, EVERYBODY, 10) == [stays]

    def test_chunks_of_a_document_are_its_active_ones_in_order(self, store: Store, tenant: str) -> None:
        document = make_document()

        def chunk(**fields: Any) -> Memory:
            values = {"kind": Kind.DOCUMENT_CHUNK, "source_ref": document.id} | fields
            return insert(store, make_memory(tenant, **values))

        chunks = [chunk() for _ in range(3)]
        chunk(status=Status.SOFT_DELETED)
        chunk(source_ref="another")
        chunk(owner=Owner("bob"))
        chunk(kind=Kind.FACT)
        assert store.read(tenant, lambda tx: tx.documents.chunks_of(document)) == chunks


class ToolOutputConformance(StoreFixtures):
    """`tx.tool_outputs`: whole payloads."""

    def test_payload_comes_back_whole_and_goes_with_its_memory(self, store: Store, tenant: str) -> None:
        memory = insert(store, make_memory(tenant, kind=Kind.TOOL_OUTPUT))
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) is None
        payload = "ответ 🚀\n" * 100_000
        store.write(tenant, lambda tx: tx.tool_outputs.insert(memory.id, payload))
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) == payload
        store.write(tenant, lambda tx: tx.erasure.erase_rows([memory.id]))
        assert store.read(tenant, lambda tx: tx.tool_outputs.get(memory.id)) is None
        assert index_rows(store, tenant, "ada") == []


def _document_key(document: Document) -> tuple[str, str, str]:
    return document.id, document.owner.user or "", document.owner.agent or ""
