"""The text of an uploaded document, by its media type."""

import codecs
import logging
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from memorist.documents.html import read_html
from memorist.documents.markdown import read_markdown
from memorist.documents.structure import Block, ExtractedText, paragraphs
from memorist.errors import InvalidField

if TYPE_CHECKING:
    from pypdf import PageObject

TEXT, MARKDOWN, HTML, PDF = MEDIA_TYPES = ("text/plain", "text/markdown", "text/html", "application/pdf")

# A small PDF can unfold into text without end.
MAX_PDF_CHARACTERS = 20_000_000
# Reading what describes a page takes seconds for each MB of it, and what repeats itself is packed into next to nothing;
# in other files a byte holds a few of it.
_MOST_UNFOLDED = 30
_UNFOLDED_ANYWAY = 250_000

_ENDINGS = {
    MARKDOWN: "md markdown",
    HTML: "html htm xhtml",
    PDF: "pdf",
    TEXT: "txt text rst adoc org tex log csv tsv json jsonl xml yaml yml toml ini cfg conf env properties srt vtt "
    "py js jsx ts tsx c h cc cpp hpp cs go java kt lua php pl r rb rs scala sh sql swift css diff patch",
}
_MEDIA_TYPE_BY_ENDING = {ending: media_type for media_type, endings in _ENDINGS.items() for ending in endings.split()}


def media_type_of(name: str) -> str | None:
    """The media type that a file's ending tells; None where it is unknown or names no text."""
    _, dot, ending = name.rpartition(".")
    return _MEDIA_TYPE_BY_ENDING.get(ending.lower()) if dot else None


def extract_text(content: bytes | str, media_type: str) -> ExtractedText:
    """The text and its structure; parameters of the media type are ignored.

    Raises InvalidField for a media type that is not read, for bytes that are no text, and for a PDF that is
    encrypted or broken, or that cannot be read for want of the `pdf` extra.
    """
    match media_type.partition(";")[0].strip().lower():
        case "text/plain":
            text = _decode(content)
            return ExtractedText(text, tuple(paragraphs(text)))
        case "text/markdown":
            text = _decode(content)
            return ExtractedText(text, tuple(read_markdown(text)))
        case "text/html":
            return read_html(_decode(content))
        case "application/pdf":
            return _read_pdf(content)
    raise InvalidField.of(
        "media_type", f"must be one of {', '.join(MEDIA_TYPES)}. Convert other documents to one of these."
    )


def _decode(content: bytes | str) -> str:
    """Unicode text with plain line feeds and without a byte order mark."""
    if isinstance(content, bytes):
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        try:
            content = content.decode("utf-16" if wide else "utf-8")
        except UnicodeDecodeError as error:
            raise InvalidField.of(
                "content",
                f"is no {'UTF-16' if wide else 'UTF-8'} text at byte {error.start}. "
                "Save it as UTF-8, or name the media type that it has.",
            ) from error
    return content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _read_pdf(content: bytes | str) -> ExtractedText:
    """The pages in order, each below its number."""
    if isinstance(content, str):
        raise InvalidField.of("content", "of a PDF must be its bytes. Send the file itself, not its text.")
    pages: list[str] = []
    blocks: list[Block] = []
    length = 0
    for number, page in enumerate(_pdf_pages(content), start=1):
        blocks += paragraphs(page, (f"Page {number}",), offset=length)
        pages += [page, "\n\n"]
        length += len(page) + 2
        if length > MAX_PDF_CHARACTERS:
            raise InvalidField.of("content", f"holds more than {MAX_PDF_CHARACTERS} characters of text. Split the PDF.")
    return ExtractedText("".join(pages), tuple(blocks))


def _pdf_pages(content: bytes) -> Iterator[str]:
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, FileNotDecryptedError
    except ModuleNotFoundError as error:
        raise InvalidField(
            'PDF documents need an extra: pip install "memorist[pdf]". Or send the text of the document.',
            field="media_type",
        ) from error
    # It tells of every oddity that it mends, and quotes the document in doing so.
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    unfolded = _Unfolded(_UNFOLDED_ANYWAY + _MOST_UNFOLDED * len(content))
    try:
        for page in PdfReader(BytesIO(content)).pages:
            yield unfolded.text_of(page).replace("\r\n", "\n").replace("\r", "\n")
    except InvalidField:
        raise
    except (FileNotDecryptedError, DependencyError) as error:
        raise InvalidField.of("content", "is an encrypted PDF. Remove its password and send it again.") from error
    except Exception as error:  # pypdf promises no kind of error for a broken file
        raise InvalidField.of("content", "is no PDF that can be read. Repair or export it anew.") from error


class _Unfolded:
    """What the pages of a PDF unfold into, with the forms that they draw: no more than so much of it is read."""

    def __init__(self, most: int) -> None:
        self._left = most
        self._forms: dict[int, tuple[object, str]] = {}
        """By identity, and kept for as long, so that no other comes to have it."""

    def text_of(self, page: "PageObject") -> str:
        """Raises InvalidField."""
        described = page.get_contents()
        self._count(0 if described is None else len(described.get_data()))
        read = page.extract_xform_text

        def read_once(form: Any, *args: Any, **options: Any) -> str:
            self._count(0)
            if id(form) not in self._forms:
                self._count(len(form.get_data()))
                self._forms[id(form)] = form, read(form, *args, **options)
            else:
                self._count(len(self._forms[id(form)][1]))
            return self._forms[id(form)][1]

        # A page may draw one form thousands of times, and pypdf would read it anew each time.
        page.extract_xform_text = read_once  # type: ignore[method-assign, assignment]
        text = page.extract_text()
        self._count(0)  # pypdf goes on with what follows a form that cannot be read, and tells nobody.
        return text

    def _count(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise InvalidField.of("content", "unfolds into far more than it is. Export it anew, or split the PDF.")
