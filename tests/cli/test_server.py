"""Every command that reads or writes memories, on the database and on a server of it: same output, same rows."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer

from memorist.platform.values import Principal, Role
from memorist.settings import Settings
from memorist.surfaces.cli.runner import full_app
from memorist.testing import new_tenant
from tests.cli.conftest import Cli, Result
from tests.cli.test_table import ALL_COMMANDS
from tests.http.conftest import Served, serving

UNKNOWN = "mem_01J9Z3K4M5N6P7Q8R9S0T1V2W3"
# They print no memories themselves.
NO_CASE = {"mcp", "config show", "top"}

_IDS = re.compile(r"\b(mem|doc|job|dbt|rcpt|tout|turn|key)_[0-9A-Z]{26}\b")
_CHANGING = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME"),
    (r"\b[0-9a-f]{13}\b", "VERSION"),
    (r"\b[0-9a-f]{64}\b", "HASH"),
    (r"\b\d{1,10}-\d{1,10}\b(?=\"?}?$)", "POSITION"),
    (r"mst_user_\w+", "TOKEN"),
    # Which door it was, with which key, and what is drawn anew.
    (r'"(source|key_id|salt|subject|next_cursor)": ("[^"]*"|null)', r'"\1": …'),
    (r"--cursor \S+", "--cursor …"),
    (r"  (cli|records|library) +", "  DOOR  "),
    # A client's writes have keys of their own, which erasures count.
    (r'"idempotency_keys": \d+', '"idempotency_keys": …'),
    (r", \d+ idempotency_keys", ""),
    # A server counts reads a little later.
    (r'"(access_count|last_accessed_at)": [^,}]+', r'"\1": …'),
    # In the words of the door, and what to do where it is.
    (r"^error: .* (\[\w+\])$", r"error: \1"),
    (r"^(By keyword alone|Some are found by keyword alone).*$", "By keyword alone"),
    # The topics of facts are found once their model is there, which a server has loaded.
    (r"## (Home|Other)", "## TOPIC"),
    (r"[─ ]{2,}", "  "),
)


@dataclass
class Run:
    """Runs commands in one place, and keeps what they print."""

    cli: Cli
    options: list[str]
    tenant: str
    folder: Path
    printed: list[tuple[int, str, str]] = field(default_factory=list)

    def __call__(self, *arguments: str, stdin: bytes = b"") -> Result:
        result = self.cli(*arguments, *self.options, stdin=stdin)
        self.printed.append((result.code, self.plain(result.out), self.plain(result.err)))
        return result

    def json(self, *arguments: str, stdin: bytes = b"") -> Any:
        return self(*arguments, "--json", stdin=stdin).json

    def remember(self, text: str, *options: str) -> str:
        memory_id: str = self.json("remember", text, *options)["id"]
        return memory_id

    def plain(self, text: str) -> str:
        known: dict[str, str] = {}
        text = _IDS.sub(lambda found: known.setdefault(found[0], f"{found[1]}_{len(known)}"), text)
        text = text.replace(self.tenant, "TENANT").replace(str(self.folder), "FOLDER")
        for pattern, replacement in _CHANGING:
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        return text


def named(run: Run) -> str:
    return run.remember("On Fridays.", "--name", "deploy_day", "--category", "project", "--description", "When")


def replaced(run: Run) -> str:
    old: str = run.json("fact", "The user works at Siemens.")["id"]
    run("fact", "The user works at Bosch.")
    return old


def doubt(run: Run) -> str:
    run("fact", "The user works at Siemens and plays the cello.")
    run("fact", "The user no longer works at Siemens.")
    found: str = run.json("doubts", "list")["items"][0]["id"]
    return found


def written(run: Run, name: str, text: str) -> str:
    (run.folder / name).write_text(text, "utf-8")
    return str(run.folder / name)


def exported(run: Run) -> bytes:
    run.remember("Moves along.")
    out = run("export").out.encode()
    run("reset", "--yes")
    return out


Case = Callable[[Run], Any]
CASES: dict[str, Case] = {
    "remember": lambda run: [
        run("remember", "-", "--category", "goal", "--meta", '{"a": [1]}', "--importance", "4", "--session", "s",
            "--project", "/srv/", "--confidence", "0.5", "--ttl-minutes", "90", stdin="Grüße.\n".encode()),
        run("remember", "Once."), run("remember", "Once."), run("remember", "Once.", "--json"),
        run("remember", "Under a key.", "--idempotency-key", "k"),
        run("remember", "Under a key.", "--idempotency-key", "k", "--json"),
        run("remember", "Another.", "--idempotency-key", "k"),
        run("remember", "For all.", "--shared", "--json"),
        run("remember", " "), run("remember", "x", "--category", "Two Words"), run("remember", "x", "--user", "a b"),
        run("remember", "x", "--user", "bob"), run("remember", "Of an agent.", "--agent", "coder", "--json"),
    ],
    "fact": lambda run: [replaced(run), run("fact", "The user works at Bosch."), run("fact", " ")],
    "recall": lambda run: [
        run.remember("The office is in Lisbon.", "--category", "place"), run.remember("The office has a cat."),
        run("recall", "Where is the office?"), run("recall", "office", "--json", "--explain", "--top-k", "1"),
        run("recall", "office", "--category", "place", "--min-score", "0", "--session", "s", "--scope", "user"),
        run("recall", "zeppelin"), run("recall", "office", "--as-of", "2020-01-01"), run("recall", "office",
            "--budget", "50", "--why-not", UNKNOWN), run("recall", "x", "--top-k", "1000"), run("recall", ""),
    ],
    "list": lambda run: [
        *(run.remember(f"Number {number}.") for number in range(3)), named(run), run("list"),
        run("list", "--limit", "1", "--json"), run("list", "--all", "--json"), run("list", "--named"),
        run("list", "--kind", "fact", "--category", "project", "--order", "importance", "--named"),
        run("list", "--status", "archived"), run("list", "--every-agent"), run("list", "--limit", "0"),
        run("list", "--cursor", "no"), run("list", "--all-users"), run("list", "--tenant", "another"),
    ],
    "show": lambda run: [
        run("show", named(run)), run("show", "deploy_day"), run("show", "deploy_day", "--json"),
        run("show", "no_name"), run("show", UNKNOWN),
    ],
    "edit": lambda run: [
        named(run), run("edit", "deploy_day", "--content", "-", "--importance", "1", stdin=b"On Mondays."),
        run("edit", "deploy_day", "--clear", "description", "--json"), run("edit", "deploy_day"),
        run("edit", "deploy_day", "--importance", "2", "--if-version", "5f3c2a"), run("show", "deploy_day"),
        run("edit", UNKNOWN, "--importance", "2"),
    ],
    "forget": lambda run: [
        run("forget", run.remember("One."), run.remember("Two."), UNKNOWN), run("list"),
        run("forget", run.remember("Three."), "--json"), run("forget", run.remember("Four."), "--hard", "--json"),
        run("forget", run.remember("Five."), "--hard"), run("forget", UNKNOWN, "--hard"),
    ],
    "archive": lambda run: [run("archive", one := run.remember("Long ago.")), run("archive", one), run("show", one)],
    "restore": lambda run: [
        run("forget", one := run.remember("Back.")), run("restore", one, "--json"), run("restore", one), run("list"),
    ],
    "events": lambda run: [
        run("edit", one := named(run), "--importance", "2"), run("events", one), run("events", "deploy_day", "--json"),
    ],
    "history": lambda run: [run("history", one := replaced(run)), run("history", one, "--json"),
                            run("history", UNKNOWN)],
    "doubts list": lambda run: [doubt(run), run("doubts", "list"), run("doubts", "list", "--status", "confirmed")],
    "doubts confirm": lambda run: [run("doubts", "confirm", doubt(run)), run("list")],
    "doubts refute": lambda run: [run("doubts", "refute", doubt(run), "--json"), run("list")],
    "doubts dismiss": lambda run: [run("doubts", "dismiss", one := doubt(run)), run("doubts", "dismiss", one)],
    "about": lambda run: [run("fact", "The user lives in Lisbon."), run("about"), run("about", "--json"),
                          run("about", "zoe"), run("about", "--limit", "0")],
    "context": lambda run: [run("fact", "The user lives in Lisbon."), run("context", "Where?"),
                            run("context", "--json", "--budget", "300"), run("context", "--budget", "1")],
    "section": lambda run: [run("section"), named(run), run("section"), run("section", "--json")],
    "memory": lambda run: [run("memory"), run("memory", "--category", "goal", "--json")],
    "turn": lambda run: run("turn", "Hello."),
    "chat": lambda run: run("chat", stdin=b"/quit\n"),
    "ingest": lambda run: [
        run("ingest", written(run, "notes.md", "# Cats\n\nCats purr."), "--json"),
        run("ingest", path := written(run, "talk.jsonl", '{"role": "user", "content": "Hello."}\n'), "--no-extract"),
        run("ingest", path, "--no-extract"), run("list", "--kind", "chat_message"), run("recall", "purr"),
        run("ingest", written(run, "broken.jsonl", "{"), "--format", "messages"),
    ],
    "extract": lambda run: run(
        "extract", written(run, "talk.txt", "User: I decided to use PostgreSQL.\nAssistant: Noted."), "--json"
    ),
    "export": lambda run: [named(run), run("export"), run("export", str(run.folder / "out"), "--force", "--json"),
                           run("export", "/does/not/exist")],
    "import": lambda run: [
        run("import", "-", "--json", stdin=(lines := exported(run))), run("import", "-", stdin=lines), run("list"),
        run("import", "-", stdin=b"nonsense"), run("import", "/does/not/exist"),
    ],
    "reset": lambda run: [run.remember("Gone."), run("reset"), run("reset", "--yes", "--json"), run("reset", "--yes"),
                          run("reset", "--all", "--yes")],
    "purge": lambda run: [run.remember("Gone."), run("purge", "--yes", "--json"), run("purge", "--yes"), run("list")],
    "erase list": lambda run: [run("erase", "list"), run("forget", run.remember("Gone."), "--hard"),
                               run("erase", "list"), run("erase", "list", "--json")],
    "erase verify": lambda run: run(
        "erase", "verify", run.json("forget", run.remember("Gone."), "--hard")["id"], "--json"
    ),
    "jobs list": lambda run: [run("jobs", "list"), run("jobs", "list", "--status", "dead", "--json")],
    "jobs show": lambda run: run("jobs", "show", "job_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "jobs retry": lambda run: run("jobs", "retry", "job_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "jobs drop": lambda run: run("jobs", "drop", "job_01J9Z3K4M5N6P7Q8R9S0T1V2W3"),
    "watch": lambda run: [named(run), run("watch", "--once", "--json"), run("watch", "--once", "--after", "nonsense")],
    "tokens create": lambda run: run("tokens", "create", "ada"),
    "tokens revoke": lambda run: run("tokens", "revoke", "ada"),
    "policy show": lambda run: run("policy", "show"),
    "policy set": lambda run: run("policy", "set", "--active-days", "5"),
    "sweep": lambda run: run("sweep"),
}  # fmt: skip
ADMIN_CASES: dict[str, Case] = {
    "everybody": lambda run: [
        run.remember("Of ada.", "--user", "ada", "--name", "same"),
        run.remember("Of bob.", "--user", "bob"),
        run("list", "--all-users"),
        run("show", "same", "--all-users"),
        run("jobs", "list", "--all-users"),
        run("list", "--all-users", "--user", "ada"),
        run("watch", "--all-users", "--once"),
        run.remember("Of bob too.", "--user", "bob", "--name", "same"),
        run("show", "same", "--all-users"),
        run("export"),
        run("reset", "--yes"),
        run("reset", "--all", "--yes", "--json"),
    ],
    "keeping": lambda run: [
        run("policy", "show"),
        run("policy", "set", "--active-days", "5", "--dry-run"),
        run("policy", "set", "--active-days", "5", "--json"),
        run("policy", "show", "--json"),
        run("sweep"),
        run("sweep", "--dry-run", "--json"),
    ],
    "tokens": lambda run: [run("tokens", "create", "ada", "--json"), run("tokens", "revoke", "ada", "--json")],
    "purging": lambda run: [run.remember("Of ada.", "--user", "ada"), run("purge", "--user", "ada", "--yes")],
}


@dataclass(frozen=True)
class Place:
    served: Served
    database: str


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    database = request.getfixturevalue("postgres_url") if request.param == "postgres" else str(folder / "memories.db")
    settings = Settings(data=folder, database=database, port=0, embedder="off", reranker="off", failed_key_delay_s=0)
    with serving(settings) as served:
        yield Place(served, database)


def require_the_same(cli: Cli, place: Place, case: Case, folder: Path, role: Role, user: str | None) -> None:
    """The case prints and leaves the same on the database and on its server, each in a tenant of its own."""
    printed, rows = [], []
    for where in (["--database", place.database], ["--url", place.served.url]):
        tenant = new_tenant()
        run = Run(cli, [*where, "--key", place.served.key(tenant, role, user)], tenant, folder)
        case(run)
        printed.append(run.printed)
        lines = [*place.served.core.transfer.export(Principal(tenant, Role.ADMIN))]
        rows.append([run.plain(json.dumps(json.loads(line), sort_keys=True)) for line in lines])
    for here, there in zip(*printed, strict=True):
        assert there == here
    for here_row, there_row in zip(*rows, strict=True):
        assert there_row == here_row


@pytest.mark.parametrize("name", CASES)
def test_command_does_the_same_on_a_server(cli: Cli, place: Place, name: str, tmp_path: Path) -> None:
    require_the_same(cli, place, CASES[name], tmp_path, Role.USER, "ada")


@pytest.mark.parametrize("name", ADMIN_CASES)
def test_admin_does_the_same_on_a_server(cli: Cli, place: Place, name: str, tmp_path: Path) -> None:
    require_the_same(cli, place, ADMIN_CASES[name], tmp_path, Role.ADMIN, None)


def test_every_command_that_takes_an_address_is_in_the_table() -> None:
    root: Any = typer.main.get_command(full_app())
    taking = set()
    for path in ALL_COMMANDS:
        command = root
        for part in path:
            command = command.commands[part]
        if any(one.name == "connection" and not one.hidden for one in command.params):
            taking.add(" ".join(path))
    assert taking == CASES.keys() | NO_CASE
