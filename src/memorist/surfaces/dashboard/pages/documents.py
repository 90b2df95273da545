"""Documents: a list, files that are dropped onto it, and one document read with its chunks marked."""

from typing import Any
from urllib.parse import urlencode

from starlette.responses import Response

from memorist.errors import InvalidField, MemoristError
from memorist.ingestion.values import Document
from memorist.platform import acts
from memorist.secrets import redact
from memorist.surfaces.dashboard.document_text import blocks_of
from memorist.surfaces.dashboard.refusals import in_words
from memorist.surfaces.dashboard.routing import Pages
from memorist.surfaces.dashboard.visits import HOME, Toast, Visit
from memorist.surfaces.dashboard.wording import say, say_n, to_say
from memorist.views.documents import UploadedFile

pages = Pages()

ADDRESS = f"{HOME}/documents"
_ON_A_PAGE = 20
_CHANGES = 20
# Who drops a file knows of no fields.
_REFUSED = {
    "name has no ending of a file that is read.": to_say(
        "This kind of file is not read. Text, Markdown, HTML and PDF are: .txt, .md, .html or .pdf."
    ),
    "content must not be empty.": to_say("There is no text in this file."),
}
_NAMES = {"content": to_say("The file"), "name": to_say("The file’s name")}
_TYPES = {"text/plain": to_say("Text"), "text/markdown": "Markdown", "text/html": "HTML", "application/pdf": "PDF"}


@pages.get("/documents")
def show_list(visit: Visit) -> Response:
    cursor = visit.query.get("cursor") or None
    page = visit.core.document_views.page(visit.principal, limit=_ON_A_PAGE, cursor=cursor)
    more = None if page.next_cursor is None else f"{ADDRESS}?{urlencode({'cursor': page.next_cursor})}"
    return visit.page(
        "documents.html",
        section="documents",
        documents=[_row(one) for one in page.items],
        more=more,
        is_first=cursor is None,
    )


@pages.get("/documents/read")
def show(visit: Visit) -> Response:
    document_id = visit.query.get("id", "")
    near, after, before = (visit.query.get(name) or None for name in ("near", "after", "before"))
    part = visit.core.document_views.read(visit.principal, document_id, near=near, after=after, before=before)
    return visit.page(
        "document.html",
        section="documents",
        row=_row(part.document),
        segments=[(one, blocks_of(one.text, part.document.media_type)) for one in part.segments],
        near=near,
        earlier=None if part.first is None else address_of(document_id, before=part.first),
        later=None if part.last is None else address_of(document_id, after=part.last),
    )


@pages.post("/documents/upload")
def upload(visit: Visit) -> Response:
    """One file as it is: its bytes are the body, its name is in the address. What became of it is told in a line."""
    name = visit.query.get("name", "")
    shared = visit.principal.user is None or visit.query.get("shared") == "yes"
    try:
        done = visit.core.document_views.upload(visit.principal, name, visit.file, shared=shared)
    except MemoristError as error:
        acts.failed(error)
        refused = _REFUSED.get(error.message)
        message = redact(say(refused) if refused else in_words(error, _NAMES)).text
        return visit.part("parts/document_uploaded.html", status=visit.site.status_of(error), error=message)
    return visit.part("parts/document_uploaded.html", error=None, **_told(done))


@pages.post("/documents/write")
def write(visit: Visit) -> Response:
    """A text that was pasted, as Markdown."""
    title, content = visit.text("title"), visit.text("content")
    if not title or not content:
        raise InvalidField(say("Give the text a title and some words."), field="content")
    shared = visit.principal.user is None or visit.text("shared") == "yes"
    done = visit.core.ingestion.add_document(
        visit.principal, title=title, content=content, media_type="text/markdown", shared=shared
    )
    said = say("Added.") if done.was_new else say("Replaced.") if done.changed else say("It was there, word for word.")
    return visit.redirect(address_of(done.document.id), toast=Toast(said))


@pages.post("/documents/forget")
def forget(visit: Visit) -> Response:
    gone = visit.core.ingestion.forget_document(visit.principal, visit.text("id"))
    one, many = to_say("“{title}” and its chunk are deleted."), to_say("“{title}” and its {n} chunks are deleted.")
    said = say_n(one, many, gone.chunks, title=gone.title)
    return visit.redirect(ADDRESS, toast=Toast(said))


def address_of(document_id: str, **where: str) -> str:
    return f"{ADDRESS}/read?{urlencode({'id': document_id, **where})}"


def _row(document: Document) -> dict[str, Any]:
    return {
        "document": document,
        "address": address_of(document.id),
        "type": say(_TYPES.get(document.media_type, document.media_type)),
        # An id that we made says nothing; one that a writer gave says where it comes from.
        "source": None if document.id.startswith("doc_") else document.id,
    }


def _told(done: UploadedFile) -> dict[str, Any]:
    shown = {"new": done.new[:_CHANGES], "gone": done.gone[:_CHANGES]}
    return {"stored": done.stored, "done": done, **shown, **_row(done.stored.document)}
