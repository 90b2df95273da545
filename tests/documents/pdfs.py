"""Small PDF files, written by hand."""

import zlib
from io import BytesIO


def pdf(*pages: str) -> bytes:
    """A PDF with one line of ASCII text on each page."""
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for index, line in enumerate(pages):
        drawing = f"BT /F1 12 Tf 72 720 Td ({line}) Tj ET".encode() if line else b""
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * index} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode(),
            _stream(drawing),
        ]
    return _file(objects)


def encrypted_pdf(password: str) -> bytes:
    from pypdf import PdfWriter

    writer = PdfWriter(clone_from=BytesIO(pdf("Secret plans.")))
    writer.encrypt(password, algorithm="RC4-128")
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def packed_pdf(text: str) -> bytes:
    """The same with one page, whose description is compressed."""
    from pypdf import PdfWriter

    writer = PdfWriter(clone_from=BytesIO(pdf(text)))
    writer.pages[0].compress_content_streams()
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def pdf_of_forms(drawing: str, forms: dict[str, str]) -> bytes:
    """One page that draws forms by their names, as they may draw each other; what forms draw is compressed."""
    named = " ".join(f"/{name} {5 + index} 0 R" for index, name in enumerate(forms))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> /XObject << %b >> >>"
        % named.encode(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R /Resources 3 0 R >>" % (5 + len(forms)),
    ]
    head = "/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources 3 0 R /Filter /FlateDecode"
    objects += [_stream(zlib.compress(form.encode()), head) for form in forms.values()]
    return _file([*objects, _stream(drawing.encode())])


def _stream(content: bytes, head: str = "") -> bytes:
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(content), head.encode(), content)


def _file(objects: list[bytes]) -> bytes:
    content = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(content))
        content += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    table += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(content))
    return content + table + trailer
