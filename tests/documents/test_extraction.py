"""From bytes to text: media types, encodings, HTML and PDF."""

import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorist.documents import MEDIA_TYPES, extract_text, media_type_of, read_document
from memorist.documents.structure import ExtractedText
from memorist.errors import InvalidField
from tests.documents.pdfs import encrypted_pdf, packed_pdf, pdf, pdf_of_forms


def html(page: str) -> str:
    return extract_text(page, "text/html").text


def blocks(extracted: ExtractedText) -> list[str]:
    return [extracted.text[block.start : block.end] for block in extracted.blocks]


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("notes.txt", "text/plain"),
        ("README.MD", "text/markdown"),
        ("a/b.markdown", "text/markdown"),
        ("page.htm", "text/html"),
        ("page.html", "text/html"),
        ("paper.pdf", "application/pdf"),
        ("server.log", "text/plain"),
        ("table.csv", "text/plain"),
        ("data.json", "text/plain"),
        ("guide.rst", "text/plain"),
        ("photo.png", None),
        ("archive.tar.gz", None),
        ("md", None),
        ("folder.md/file", None),
        ("", None),
    ],
)
def test_a_file_ending_tells_the_media_type(name: str, media_type: str | None) -> None:
    assert media_type_of(name) == media_type


@pytest.mark.parametrize("media_type", ["image/png", "", "text/", "markdown"])
def test_another_media_type_is_refused_with_those_that_are_read(media_type: str) -> None:
    with pytest.raises(InvalidField, match="text/plain, text/markdown, text/html, application/pdf") as caught:
        read_document("text", media_type)
    assert caught.value.field == "media_type"


def test_parameters_and_case_of_a_media_type_do_not_matter() -> None:
    assert extract_text(b"# A", "Text/Markdown; charset=utf-8").blocks[0].heading_path == ("A",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "text/html"])
def test_unicode_text_is_read_with_and_without_its_mark(encoding: str, media_type: str) -> None:
    assert extract_text("Grüße, 世界".encode(encoding), media_type).text == "Grüße, 世界"


def test_a_mark_in_decoded_text_is_dropped_too() -> None:
    assert extract_text("\ufeff# A", "text/markdown").text == "# A"


@pytest.mark.parametrize("content", [b"caf\xe9", b"\xff\xfea", b"\x89PNG\r\n\x1a\n\xff"])
@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown", "text/html"])
def test_bytes_that_are_no_text_are_refused(content: bytes, media_type: str) -> None:
    with pytest.raises(InvalidField, match="Save it as UTF-8") as caught:
        read_document(content, media_type)
    assert caught.value.field == "content"


def test_line_ends_of_every_system_are_read() -> None:
    for ending in ("\n", "\r\n", "\r"):
        assert blocks(extract_text(f"one{ending}two{ending}{ending}three", "text/plain")) == ["one\ntwo", "three"]


def test_html_becomes_its_visible_text() -> None:
    page = """<!DOCTYPE html><html><head><title>Hand &amp; book</title><meta charset=utf-8>
        <style>p { color: red }</style><script>if (a < b) { write("</p>") }</script></head>
        <body><h1>Travel</h1><p>Take the <b>train</b>, it&#39;s
        fast.<br>Always.</p><noscript>Turn it on</noscript><template><p>Later</p></template><!-- <p>Never</p> -->
        <ul><li>Ticket<li><p>Passport</p></ul>Good luck</body></html>"""
    assert html(page) == (
        "Hand & book\n\nTravel\n\nTake the train, it's fast.\nAlways.\n- Ticket\n- Passport\n\nGood luck"
    )


def test_html_headings_give_the_path() -> None:
    extracted = extract_text("<title>T</title><h1>A</h1>a<h3>B</h3>b<h2><i>C</i></h2>c<h1>D</h1>d", "text/html")
    paths = {extracted.text[block.start]: block.heading_path for block in extracted.blocks}
    assert paths["a"] == ("T", "A")
    assert paths["b"] == ("T", "A", "B")
    assert paths["c"] == ("T", "A", "C")
    assert paths["d"] == ("T", "D")


def test_a_title_repeated_as_a_heading_stands_once_in_the_path() -> None:
    chunks = read_document("<title>Guide</title><h1>Guide</h1><h2>Start</h2>go<h1>Guide</h1>end", "text/html")
    assert [chunk.heading_path for chunk in chunks] == [("Guide", "Start"), ("Guide",)]


def test_table_rows_are_lines_with_their_cells_apart() -> None:
    page = "<table><tr><th>Name</th><th>Age</th></tr><tr><td><p>Ada</p></td><td><p>36</p></td></tr></table>"
    assert html(page) == "Name | Age\nAda | 36"


def test_preformatted_text_keeps_its_white_space() -> None:
    assert html("<p>Run:</p><pre>\n  if x:\n      y()\n</pre><p>a\n  b</p>") == "Run:\n\n  if x:\n      y()\n\na b"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>1 < 2 & 3 > 2", "1 < 2 & 3 > 2"),
        ("<a href=\"x>y\" title='it'>link</a>", "link"),
        ("<p it's odd>one</p><p>it's two</p>", "one\n\nit's two"),
        ("<h1>Unclosed<p>text", "Unclosed\n\ntext"),
        ("</p></div>stray", "stray"),
        ("<P>loud</P>", "loud"),
        ("a<!-->b", "ab"),
        ("a<!-- b", "a"),
        ("a<script>b", "a"),
        ("a<script src='x' />b", "ab"),
        ("a<![CDATA[b]]>c", "ac"),
        ("&#" + "9" * 5000 + ";", "\ufffd"),
        ("&unknown; &lt &#x41;", "&unknown; < A"),
        ("<", "<"),
        ("a<b", "a"),
        ("<>", "<>"),
    ],
)
def test_broken_html_is_read_as_browsers_do(page: str, text: str) -> None:
    assert html(page) == text


HOSTILE_HTML = [
    *("<", "<a", "<a ", "</", "<!--", "<!", "<?", "<![x", "<a b='", "<a b=\"'>", "<a=", "&", "&#", "&amp", "&#x1"),
    *("<div>", "<b>x", "<h1>", "<li>", "<script>", "<template>", "<pre>\n", "<td>", "<br>", "<title>", "\x00<p>"),
]


@pytest.mark.parametrize("unit", HOSTILE_HTML)
def test_hostile_html_takes_bounded_time(unit: str) -> None:
    content = unit * (200_000 // len(unit))
    before = time.process_time()
    read_document(content, "text/html")
    # In quadratic time it would be many minutes.
    assert time.process_time() - before < 20


def test_ten_megabytes_of_brackets_take_bounded_time() -> None:
    before = time.process_time()
    assert read_document("<" * 10_000_000, "text/html")
    assert time.process_time() - before < 30


@given(st.text("<>/!-?'\"=&;# \nabph1[]") | st.lists(st.sampled_from([*HOSTILE_HTML, ">", "-->", "x"])).map("".join))
def test_any_html_is_read(page: str) -> None:
    extracted = extract_text(page, "text/html")
    assert "".join("".join(blocks(extracted)).split()) == "".join(extracted.text.split())


def test_a_pdf_is_read_page_by_page() -> None:
    chunks = read_document(pdf("Trains leave at noon.", "", "Buses leave at one."), "application/pdf")
    assert [(chunk.text, chunk.heading_path) for chunk in chunks] == [
        ("Trains leave at noon.", ("Page 1",)),
        ("Buses leave at one.", ("Page 3",)),
    ]


def test_an_encrypted_pdf_is_refused() -> None:
    with pytest.raises(InvalidField, match="Remove its password") as caught:
        read_document(encrypted_pdf("secret"), "application/pdf")
    assert caught.value.field == "content"


def test_a_pdf_that_opens_without_a_password_is_read() -> None:
    assert read_document(encrypted_pdf(""), "application/pdf")[0].text == "Secret plans."


@pytest.mark.parametrize("content", [b"", b"%PDF-1.4", b"no pdf at all", b"\x00" * 1000])
def test_a_broken_pdf_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidField, match="no PDF that can be read") as caught:
        read_document(content, "application/pdf")
    assert caught.value.field == "content"


@given(st.integers(0, 600), st.binary(max_size=8))
@example(at=20, other=b"/Pages 1 0 R")
def test_a_damaged_pdf_is_read_or_refused(at: int, other: bytes) -> None:
    whole = pdf("Trains leave at noon.")
    try:
        read_document(whole[:at] + other + whole[at + len(other) :], "application/pdf")
    except InvalidField:
        pass


def test_a_pdf_that_unfolds_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorist.documents.extraction.MAX_PDF_CHARACTERS", 10)
    with pytest.raises(InvalidField, match="Split the PDF"):
        read_document(pdf("Trains leave at noon."), "application/pdf")


def test_a_pdf_that_is_packed_beyond_measure_is_refused() -> None:
    """Each MB of what describes a page takes seconds."""
    with pytest.raises(InvalidField, match="far more than it is"):
        read_document(packed_pdf("again and " * 100_000), "application/pdf")
    assert read_document(packed_pdf("now and then"), "application/pdf")[0].text == "now and then"


def shown(text: str) -> str:
    return f"BT /F1 12 Tf ({text}) Tj ET\n"


def test_what_forms_draw_is_read_wherever_they_are_drawn() -> None:
    content = pdf_of_forms(
        "/Head Do\n" + shown("Trains leave at noon.") + "/Head Do\n/Outer Do\n",
        {"Head": shown("Timetable"), "Outer": shown("Buses") + "/Head Do\n"},
    )
    text = extract_text(content, "application/pdf").text
    assert "".join(text.split()) == "TimetableTrainsleaveatnoon.TimetableBusesTimetable"


@pytest.mark.parametrize(
    ("drawing", "forms"),
    [
        pytest.param("/A Do", {"A": shown("again and ") * 40_000}, id="one form"),
        pytest.param("/A Do\n" * 5000, {"A": shown("again and " * 100)}, id="drawn again"),
        pytest.param(
            "/A Do\n",
            {"A": "/B Do\n" * 100, "B": "/C Do\n" * 100, "C": "/D Do\n" * 100, "D": shown("again and ")},
            id="forms in forms",
        ),
    ],
)
def test_a_pdf_whose_forms_unfold_beyond_measure_is_refused(drawing: str, forms: dict[str, str]) -> None:
    with pytest.raises(InvalidField, match="far more than it is"):
        read_document(pdf_of_forms(drawing, forms), "application/pdf")


def test_form_that_is_drawn_again_costs_nothing() -> None:
    """Read each time, this would take minutes."""
    content = pdf_of_forms("/A Do\n" * 5000, {"A": shown(" ") + "BT ET\n" * 25_000})
    before = time.process_time()
    extract_text(content, "application/pdf")
    assert time.process_time() - before < 20


def test_a_pdf_as_decoded_text_is_refused() -> None:
    with pytest.raises(InvalidField, match="Send the file itself"):
        read_document("%PDF-1.4", "application/pdf")


def test_without_the_extra_a_pdf_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(InvalidField, match=r'pip install "memorist\[pdf\]"') as caught:
        read_document(pdf("text"), "application/pdf")
    assert caught.value.field == "media_type"


@pytest.mark.parametrize("media_type", MEDIA_TYPES[:3])
def test_nul_and_lone_surrogates_pass_through(media_type: str) -> None:
    assert "\x00" in read_document("a\x00b \ud800 c", media_type)[0].text
