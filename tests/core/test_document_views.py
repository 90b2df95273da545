"""Documents listed, read in parts with their chunks, and uploaded again, on every database."""

from io import BytesIO

import pytest

from memorist.core import Core
from memorist.errors import Forbidden, InvalidField, NotFound
from memorist.memories.values import Kind, Query
from memorist.platform.values import OwnerFilter, Principal, Role
from memorist.testing import new_tenant

GUIDE = "# Guide\n\nOpen the box.\n\n## Care\n\nKeep it **dry**.\n"


def long_text(sections: int = 60) -> str:
    return "\n\n".join(f"## Part {number}\n\n" + f"Words of part {number}. " * 40 for number in range(sections))


def titles(core: Core, who: Principal) -> list[str]:
    return [one.title for one in core.document_views.page(who).items]


def test_newest_come_first_by_pages(core: Core, ada: Principal) -> None:
    for number in range(5):
        core.ingestion.add_document(ada, title=f"d{number}", content="text")
    first = core.document_views.page(ada, limit=3)
    rest = core.document_views.page(ada, limit=3, cursor=first.next_cursor)
    assert [one.title for one in (*first.items, *rest.items)] == ["d4", "d3", "d2", "d1", "d0"]
    assert rest.next_cursor is None
    assert {one.content for one in first.items} == {""}


def test_documents_with_names_of_any_script_are_listed(core: Core, ada: Principal) -> None:
    names = ["report-2026", "~draft", "отчёт-2026", "報告", "🚀"]
    for name in names:
        core.ingestion.add_document(ada, title=name, content=f"text of {name}", document_id=name)
    assert titles(core, ada) == names[::-1]


def test_only_those_who_see_its_memories_see_a_document(
    core: Core, ada: Principal, bob: Principal, admin: Principal
) -> None:
    own = core.ingestion.add_document(ada, title="own", content="mine").document
    core.ingestion.add_document(admin, title="shared", content="ours", shared=True)
    assert titles(core, ada) == titles(core, admin) == ["shared", "own"]
    assert titles(core, bob) == ["shared"]
    assert titles(core, Principal(new_tenant(), Role.ADMIN)) == []
    for who in (bob, Principal(new_tenant(), Role.ADMIN)):
        with pytest.raises(NotFound):
            core.document_views.read(who, own.id)


def test_segments_hold_each_character_once_and_name_their_chunks(core: Core, ada: Principal) -> None:
    text = long_text()
    document = core.ingestion.add_document(ada, title="long", content=text, media_type="text/markdown").document
    seen, after = "", None
    chunks = []
    while True:
        part = core.document_views.read(ada, document.id, after=after)
        seen += "".join(one.text for one in part.segments)
        chunks += [one.chunk.id for one in part.segments if one.chunk]
        if (after := part.last) is None:
            break
    assert "".join(seen.split()) == "".join(text.split())
    stored = core.store.read(
        ada.tenant,
        lambda tx: tx.memories.page(
            Query((OwnerFilter("ada"),), kind=Kind.DOCUMENT_CHUNK, limit=500), core.clock.now()
        ),
    )
    assert sorted(chunks) == sorted(one.id for one in stored)
    last = core.document_views.read(ada, document.id, near=chunks[-1])
    assert [one.chunk.id for one in last.segments if one.chunk] == chunks[-4:]
    assert last.first == chunks[-4]
    back = core.document_views.read(ada, document.id, before=last.first)
    assert [one.chunk.id for one in back.segments if one.chunk][-1] == chunks[-5]


def test_text_of_a_deleted_chunk_is_in_no_memory(core: Core, ada: Principal) -> None:
    document = core.ingestion.add_document(ada, title="g", content=GUIDE, media_type="text/markdown").document
    before = core.document_views.read(ada, document.id).segments
    gone = before[-1].chunk
    assert gone is not None
    core.memories.forget(ada, gone.id)
    after = core.document_views.read(ada, document.id).segments
    assert after[-1].chunk is None
    assert "dry" in after[-1].text


def test_upload_under_the_same_name_tells_what_changed(core: Core, ada: Principal) -> None:
    first = core.document_views.upload(ada, "guide.md", BytesIO(GUIDE.encode()), shared=False)
    assert (first.stored.was_new, first.new, first.gone) == (True, (), ())
    same = core.document_views.upload(ada, "guide.md", BytesIO(GUIDE.encode()), shared=False)
    assert (same.stored.changed, same.new) == (False, ())
    changed = core.document_views.upload(
        ada, "guide.md", BytesIO(GUIDE.replace("dry", "cool").encode() + b"\nNew.\n"), shared=False
    )
    assert changed.new == ("Keep it **cool**.", "New.")
    assert changed.gone == ("Keep it **dry**.",)
    assert changed.stored.document.id == first.stored.document.id


def test_what_is_no_document_is_refused(core: Core, ada: Principal, admin: Principal) -> None:
    for name in ("photo.png", "noending", ""):
        with pytest.raises(InvalidField):
            core.document_views.upload(ada, name, BytesIO(b"x"), shared=False)
    with pytest.raises(InvalidField):
        core.document_views.upload(ada, "broken.txt", BytesIO(b"\xff\xfe\xff"), shared=False)
    core.policies.change(admin, {"users_share_documents": False})
    with pytest.raises(Forbidden):
        core.document_views.upload(ada, "a.txt", BytesIO(b"x"), shared=True)
    with pytest.raises(Forbidden):
        core.document_views.upload(Principal(ada.tenant, Role.READER, "ada"), "a.txt", BytesIO(b"x"), shared=False)
    assert titles(core, admin) == []
