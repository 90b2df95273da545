"""Documents as chunks: the text of a file, cut where its own structure allows. Pure."""

from memorist.documents.chunking import Chunk, chunk
from memorist.documents.extraction import MEDIA_TYPES, extract_text, media_type_of
from memorist.documents.structure import Block, ExtractedText, Shape

__all__ = [
    "MEDIA_TYPES",
    "Block",
    "Chunk",
    "ExtractedText",
    "Shape",
    "chunk",
    "extract_text",
    "media_type_of",
    "read_document",
]


def read_document(content: str | bytes, media_type: str = "text/plain") -> list[Chunk]:
    """The chunks of a document in order; none where it holds no text. Raises what `extract_text` raises."""
    return chunk(extract_text(content, media_type))
