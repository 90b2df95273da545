"""What a browser sends and gets, header by header: cookies, forms from elsewhere, the policy, and files."""

import re
import socket
import tracemalloc
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from pathlib import Path

import httpx2
import pytest

import memorist.surfaces.dashboard
from memorist.platform.sign_ins import csrf_token
from memorist.platform.values import Principal, Role
from memorist.surfaces.dashboard.rendering import SECURITY_POLICY, STATIC, _with_marks, static
from memorist.testing import new_tenant
from tests.http.conftest import Served

TEMPLATES = Path(memorist.surfaces.dashboard.__file__).parent / "templates"


class Session:
    """A client that is signed in, without a browser."""

    def __init__(self, served: Served, tenant: str, role: Role = Role.ADMIN) -> None:
        self.client = httpx2.Client(base_url=served.url, timeout=30)
        self.key = served.key(tenant, role, "ada")
        self.answer = self.client.post("/dashboard/sign-in", data={"key": self.key})
        assert self.answer.status_code == 303, self.answer.text
        (self.cookie,) = [name for name in self.client.cookies if name.startswith("memorist_session_")]

    @property
    def csrf(self) -> str:
        return csrf_token(self.client.cookies[self.cookie])

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.client.get(f"/dashboard{path}", headers=headers)

    def post(self, path: str, **fields: str) -> httpx2.Response:
        return self.client.post(f"/dashboard{path}", data={"csrf": self.csrf} | fields)

    def choose(self, whose: str, agent: str = "") -> None:
        """Set the cookies of the choice by hand, as a forger would."""
        for name, value in (("whose", whose), ("agent", agent)):
            self.client.cookies.set(self.cookie.replace("session", name), value, domain="127.0.0.1", path="/dashboard")

    def who(self) -> str:
        """Whom the sidebar names, and their role."""
        found = re.search(r'<dl class="who-is">(.*?)</dl>', self.get("").text, re.S)
        assert found is not None
        return " · ".join(re.findall(r"<dd[^>]*>(.*?)</dd>", found[1])[:-1])


SignIn = Callable[..., Session]


@pytest.fixture
def sign_in(served: Served) -> Iterator[SignIn]:
    made: list[Session] = []

    def call(tenant: str, role: Role = Role.ADMIN) -> Session:
        made.append(Session(served, tenant, role))
        return made[-1]

    yield call
    for session in made:
        session.client.close()


@pytest.fixture
def session(sign_in: SignIn, tenant: str) -> Session:
    return sign_in(tenant)


# Cookies


def test_session_cookie_is_kept_from_scripts_and_other_sites(session: Session) -> None:
    cookie = _cookies(session.answer)[session.cookie]
    assert cookie["httponly"] is True
    assert cookie["samesite"] == "lax"
    assert cookie["path"] == "/dashboard"
    assert not cookie["secure"]
    assert "GMT" in cookie["expires"]
    assert session.key not in session.answer.headers["set-cookie"]


def test_over_https_the_cookie_never_leaves_it(served: Served, tenant: str) -> None:
    key = served.key(tenant, Role.ADMIN, "ada")
    # As a proxy in front of the server tells it.
    headers = {"X-Forwarded-Proto": "https"}
    answer = httpx2.post(f"{served.url}/dashboard/sign-in", data={"key": key}, headers=headers)
    (cookie,) = [value for name, value in _cookies(answer).items() if "session" in name]
    assert cookie["secure"] is True


def test_all_other_cookies_are_kept_from_scripts_too(session: Session) -> None:
    for path, fields in (("/theme", {"theme": "dark"}), ("/whose", {"whose": "*"})):
        for cookie in _cookies(session.post(path, **fields)).values():
            assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "lax", "/dashboard")


# Forms from elsewhere


@pytest.mark.parametrize("token", ["", "x", "0" * 64, "ä", "other"])
def test_form_without_the_sessions_token_changes_nothing(sign_in: SignIn, session: Session, token: str) -> None:
    if token == "other":
        token = sign_in(new_tenant()).csrf
    answer = session.post("/sign-out", csrf=token)
    assert answer.status_code == 403
    assert "did not come from this page" in answer.text
    assert session.get("").status_code == 200


def test_form_without_a_field_for_the_token_changes_nothing(session: Session) -> None:
    assert session.client.post("/dashboard/sign-out").status_code == 403
    assert session.get("").status_code == 200


def test_token_may_come_as_a_header(session: Session) -> None:
    answer = session.client.post("/dashboard/sign-out", headers={"X-CSRF-Token": session.csrf})
    assert answer.status_code == 303
    assert session.get("").status_code == 303


def test_token_is_of_no_use_without_the_session(served: Served, session: Session) -> None:
    answer = httpx2.post(f"{served.url}/dashboard/sign-out", data={"csrf": session.csrf})
    assert (answer.status_code, answer.headers["location"]) == (303, "/dashboard/sign-in")
    assert session.get("").status_code == 200


def test_htmx_is_told_of_a_refusal_beside_the_page(session: Session) -> None:
    answer = session.client.post("/dashboard/theme", headers={"HX-Request": "true"})
    assert (answer.headers["hx-reswap"], answer.headers["hx-trigger"]) == ("none", "refused")
    assert "did not come from this page" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "http://127.0.0.1:1"},
    ],
)
def test_sign_in_from_another_page_is_refused(served: Served, tenant: str, headers: dict[str, str]) -> None:
    key = served.key(tenant, Role.ADMIN, "ada")
    link = served.core.sign_ins.make_link(served.core.identity.authenticate(key))
    answers = (
        httpx2.post(f"{served.url}/dashboard/sign-in", data={"key": key}, headers=headers),
        httpx2.get(f"{served.url}/dashboard/enter?link={link}", headers=headers),
    )
    for answer in answers:
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
    served.core.sign_ins.enter(link)


def test_sign_in_on_the_page_itself_is_taken(served: Served, tenant: str) -> None:
    key = served.key(tenant, Role.ADMIN, "ada")
    for headers in ({"Origin": served.url}, {"Sec-Fetch-Site": "same-origin", "Origin": "null"}):
        answer = httpx2.post(f"{served.url}/dashboard/sign-in", data={"key": key}, headers=headers)
        assert answer.status_code == 303


def test_body_of_nobody_is_not_read(served: Served) -> None:
    """It is announced, and never sent: who waited for it would never answer."""
    host, port = served.url.removeprefix("http://").split(":")
    for path, length, status in (("/theme", 100, 303), ("/theme", 10**9, 303), ("/sign-in", 10**9, 413)):
        with socket.create_connection((host, int(port)), timeout=20) as raw:
            raw.sendall(f"POST /dashboard{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())
            assert raw.recv(12).decode() == f"HTTP/1.1 {status}"


def test_form_that_is_no_key_is_not_read_to_its_end(served: Served) -> None:
    answer = httpx2.post(f"{served.url}/dashboard/sign-in", data={"key": "k" * 10_000})
    assert answer.status_code == 401


@pytest.mark.parametrize("path", ["/documents/upload?name=large.png", "/transfer/upload?name=large.txt"])
def test_file_is_gathered_on_disk_and_never_whole_in_memory(session: Session, path: str) -> None:
    headers = {"X-CSRF-Token": session.csrf, "Content-Type": "application/octet-stream"}
    session.get("/documents")
    tracemalloc.start()
    try:
        answer = session.client.post(f"/dashboard{path}", content=iter([b"x" * 65_536] * 400), headers=headers)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status_code in (400, 422)
    assert most < 12 << 20


def test_no_get_signs_out_or_chooses(session: Session) -> None:
    for path in ("/sign-out", "/theme"):
        assert session.get(path).status_code == 404
    assert session.get("/whose?whose=bob&q=bob").status_code == 200
    assert session.who() == "ada · admin"
    assert session.get("").status_code == 200


def test_unreadable_form_is_refused(session: Session) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for body in (b"\xff\xfe=1", b"&".join([b"a=1"] * 2001)):
        answer = session.client.post("/dashboard/theme", content=body, headers=headers)
        assert answer.status_code == 422
        assert "form cannot be read" in answer.text


def test_form_that_is_too_large_is_refused_in_words(session: Session) -> None:
    large = {"csrf": session.csrf, "body": "ж" * 180_000}
    page = session.client.post("/dashboard/memories/new", data=large)
    beside = session.client.post("/dashboard/memories/new", data=large, headers={"HX-Request": "true"})
    assert (page.status_code, beside.status_code) == (413, 200)
    assert beside.headers["hx-reswap"] == "none"
    for answer in (page, beside):
        assert answer.headers["content-type"].startswith("text/html")
        assert "more than the server takes in one form" in answer.text


# Links


@pytest.mark.parametrize("link", ["", "x", "..", "ä", "x" * 4000, "%00"])
def test_forged_link_does_not_sign_in(served: Served, link: str) -> None:
    answer = httpx2.get(f"{served.url}/dashboard/enter?link={link}")
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "over" in answer.text


def test_secret_in_a_link_is_no_key_and_is_not_shown(served: Served, session: Session) -> None:
    answer = httpx2.get(f"{served.url}/dashboard/enter?link={session.key}")
    assert answer.status_code == 401
    assert session.key not in answer.text


@pytest.mark.parametrize("key", ["", " ", "mst_live_", "\x00", "ä" * 3000, "<script>alert(1)</script>"])
def test_what_is_no_key_does_not_sign_in(served: Served, key: str) -> None:
    answer = httpx2.post(f"{served.url}/dashboard/sign-in", data={"key": key})
    assert answer.status_code == 401
    assert "set-cookie" not in answer.headers
    assert "<script>alert" not in answer.text


# Whose memories


@pytest.mark.parametrize(
    ("whose", "shown"),
    [("*", "everybody"), ("bob", "bob"), ("", "ada"), ("a\x01", "ada"), ("%2A", "everybody")],
)
def test_admin_looks_at_whom_it_chose(session: Session, whose: str, shown: str) -> None:
    session.choose(whose.replace("\x01", "%01"))
    assert session.who() == f"{shown} · admin"


@pytest.mark.parametrize(("whose", "shown"), [("*", "everybody"), ("bob", "bob"), ("", "ada")])
def test_admin_looks_at_an_agent_it_chose(session: Session, whose: str, shown: str) -> None:
    session.choose(whose, "coder")
    assert session.who() == f"{shown} · coder · admin"
    assert session.post("/whose", whose="bob", agent="no\x01agent").status_code == 422


@pytest.mark.parametrize("role", [Role.USER, Role.READER, Role.SERVICE])
@pytest.mark.parametrize("whose", ["*", "bob"])
def test_nobody_else_has_a_choice(sign_in: SignIn, tenant: str, role: Role, whose: str) -> None:
    session = sign_in(tenant, role)
    session.choose(whose, "coder")
    assert session.who() == f"ada · {role}"
    assert session.post("/whose", whose=whose).status_code == 403
    assert "Whose memories" not in session.get("").text


def test_choice_of_no_user_is_refused(session: Session) -> None:
    assert session.post("/whose", whose="no\x01user").status_code == 422


@pytest.mark.parametrize(
    ("back", "address"),
    [
        ("/dashboard/memories", "/dashboard/memories"),
        ("/dashboard/memories?state=active&q=a%20b", "/dashboard/memories?state=active&q=a%20b"),
        ("/dashboard/memory/ä\r\nSet-Cookie: a=b", "/dashboard/memory/%C3%A4%0ASet-Cookie:%20a=b"),
        ("", "/dashboard"),
        ("/dashboard", "/dashboard"),
        ("https://example.com/dashboard/", "/dashboard"),
        ("//example.com/dashboard/", "/dashboard"),
        ("/\\example.com", "/dashboard"),
        ("/dashboard/\\example.com", "/dashboard"),
        ("/dashboard//example.com", "/dashboard"),
        ("/dashboard.example.com", "/dashboard"),
        ("javascript:alert(1)", "/dashboard"),
    ],
)
def test_form_goes_back_to_its_page_and_never_elsewhere(session: Session, back: str, address: str) -> None:
    answer = session.post("/theme", theme="dark", back=back)
    assert (answer.status_code, answer.headers["location"]) == (303, address)


def test_unknown_theme_is_none(session: Session) -> None:
    session.post("/theme", theme='"><script>')
    assert 'data-theme="auto"' in session.get("").text


# Headers


def test_policy_is_on_every_answer(served: Served, session: Session) -> None:
    paths = (
        "",
        "/about",
        "/memories",
        "/recall",
        "/turns",
        "/doubts",
        "/privacy",
        "/access",
        "/system",
        "/nothing",
        "/sign-in",
    )
    answers = [session.get(path) for path in paths]
    answers += [session.get(path, **{"HX-Request": "true"}) for path in paths]
    answers += [httpx2.get(f"{served.url}/dashboard{path}") for path in (*paths, "/enter?link=x")]
    answers += [session.client.get(static("dashboard.css")), session.post("/theme"), session.post("/nothing")]
    answers += [session.client.post("/dashboard/theme")]
    for answer in answers:
        assert answer.headers["content-security-policy"] == SECURITY_POLICY, answer.url
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_policy_allows_nothing_inline_and_nothing_from_elsewhere() -> None:
    rules = dict(rule.strip().split(" ", 1) for rule in SECURITY_POLICY.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("img-src") == "'self' data:"
    assert set(rules.values()) == {"'self'", "'none'"}


def test_pages_are_kept_by_no_cache(session: Session) -> None:
    assert session.get("").headers["cache-control"] == "no-store"


# Files


@pytest.mark.parametrize("name", sorted(path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*.*")))
def test_files_are_kept_for_good_at_an_address_that_changes_with_them(served: Served, name: str) -> None:
    answer = httpx2.get(f"{served.url}{static(name)}")
    assert answer.status_code == 200
    assert answer.content == (STATIC / name).read_bytes()
    assert answer.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert answer.headers["content-type"].split(";")[0] in ("text/css", "text/javascript", "image/svg+xml")
    assert re.search(r"\?v=[0-9a-f]{12}$", static(name))


@pytest.mark.parametrize(
    "name", ["", "nothing.css", "../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "..\\app.py", "pages"]
)
def test_no_other_file_is_served(served: Served, name: str) -> None:
    answer = httpx2.get(f"{served.url}/dashboard/static/{name}")
    assert answer.status_code == 404
    assert "import" not in answer.text


# Templates


INLINE = re.compile(r"""\sstyle\s*=|<style|\son[a-z]+\s*=|hx-on|\|\s*safe|js:|javascript:|autoescape|Markup""", re.I)
SCRIPT = re.compile(r"<script(?![^>]*\ssrc=\"\{\{ static\()", re.I)
ELSEWHERE = re.compile(r"""(?:src|href|action|hx-[a-z]+)\s*=\s*["'](?:https?:)?//""", re.I)
UNQUOTED = re.compile(r"""\s[\w:-]+=\{\{""")


@pytest.mark.parametrize("template", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: path.stem)
def test_template_has_nothing_inline_and_escapes_everything(template: Path) -> None:
    text = template.read_text("utf-8")
    for forbidden in (INLINE, SCRIPT, ELSEWHERE, UNQUOTED):
        assert forbidden.findall(text) == []


OURS = [path for path in sorted(STATIC.rglob("*.js")) if path.name != "htmx.min.js"]


@pytest.mark.parametrize("script", OURS, ids=lambda path: path.stem)
def test_scripts_make_no_markup_and_no_code_from_text(script: Path) -> None:
    text = script.read_text("utf-8")
    for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "new Function", "document.write"):
        assert forbidden not in text


# Two tenants


def test_session_is_of_one_tenant(served: Served, session: Session) -> None:
    other = new_tenant()
    served.core.identity.create_key(Principal(other, Role.ADMIN), Role.USER, user="bob")
    for path in ("", "/about", "/memories", "/turns", "/doubts", "/privacy", "/access", "/system"):
        assert other not in session.get(path).text


def _cookies(answer: httpx2.Response) -> SimpleCookie:
    cookies: SimpleCookie = SimpleCookie()
    for line in answer.headers.get_list("set-cookie"):
        cookies.load(line)
    return cookies


def test_override_of_the_direction_is_shown_as_a_mark_and_edited_as_it_is() -> None:
    html = '<p title="a\u202eb">invoice \u202egnp.exe</p><textarea>x\u202ey</textarea>'
    marked = _with_marks(html)
    assert '<p title="a\u202eb">invoice <span class="override" data-mark="RLO"' in marked
    assert "</span>gnp.exe</p><textarea>x\u202ey</textarea>" in marked
    assert re.sub("<.*?>", "", marked) == re.sub("<.*?>", "", html)
    assert _with_marks("<p>\u05d0\u05d1 \u2067plain\u2069</p>") == "<p>\u05d0\u05d1 \u2067plain\u2069</p>"
