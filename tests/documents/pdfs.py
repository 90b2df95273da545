"""Small PDF files, written by hand."""

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
            b"<< /Length %d >>\nstream\n%b\nendstream" % (len(drawing), drawing),
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
