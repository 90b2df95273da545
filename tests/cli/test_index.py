"""`memorist index`: how far the vectors are, and making them anew."""

from pathlib import Path

import pytest

from memorist import Draft, Memorist
from memorist.models.embedder import LocalEmbedder
from memorist.platform.loop import Loop
from memorist.recall.index import indexer
from memorist.recall.index.indexer import Indexer
from tests.cli.conftest import Cli
from tests.recall.test_remote import embed_all
from tests.support.scripted_http import Body, Reply, scripted_server


@pytest.fixture
def filled(data: Path) -> None:
    """40 memories, stored without an embedder."""
    with Memorist.open(data) as memorist:
        memorist.user("local").remember_all(Draft(f"note {number}") for number in range(40))


@pytest.mark.usefixtures("filled")
def test_status_without_an_embedder(cli: Cli) -> None:
    assert cli.json("index", "status") == {
        "tenant": "local", "model": None, "total": 40, "waiting": 0, "refused": 0, "lacking_tokens": 0,
        "percent": 100.0, "changed": False,
    }  # fmt: skip
    assert "Meaning search is off" in cli.ok("index", "status").err
    assert cli("index", "rebuild").code == 2


@pytest.mark.usefixtures("filled", "models")
def test_what_waits_is_counted_made_and_made_anew(cli: Cli) -> None:
    before = cli.json("index", "status")
    assert (before["total"], before["waiting"], before["percent"]) == (40, 40, 0.0)
    assert before["model"]
    shown = cli.ok("index", "status")
    assert "0%" in shown.out
    assert "index rebuild --resume" in shown.err
    assert cli.json("index", "rebuild", "--resume")["waiting"] == 0
    assert cli.json("index", "status")["percent"] == 100.0
    assert "40 of 40" in cli.ok("index", "rebuild").err
    assert cli.json("recall", "note 7")["degraded"] is False


@pytest.mark.usefixtures("filled", "models")
def test_an_interrupted_rebuild_keeps_what_was_made(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "start", lambda *_, **__: None)  # Nothing happens in the background.
    monkeypatch.setattr(indexer, "_CLAIM", 32)  # Fewer than there are.
    whole = Indexer.finish

    def interrupted(self: Indexer, tenant: str, **options: bool) -> object:
        steps = whole(self, tenant, **options)
        yield next(steps)
        yield next(steps)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Indexer, "finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cli("index", "rebuild")
    waiting = cli.json("index", "status")["waiting"]
    assert 0 < waiting < 40
    assert cli.json("recall", "note 7")["total"] > 0
    assert cli.json("index", "rebuild", "--resume")["waiting"] == 0


@pytest.mark.usefixtures("filled", "models")
def test_what_lacks_tokens_is_counted_and_added(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loop, "start", lambda *_, **__: None)  # Nothing happens in the background.
    with monkeypatch.context() as before:
        before.setattr(LocalEmbedder, "model_id", "memorist-embedder-6")
        before.setattr(LocalEmbedder, "same_vectors_as", ())
        assert cli.json("index", "rebuild", "--resume")["model"] == "memorist-embedder-6"
    status = cli.json("index", "status")
    assert (status["waiting"], status["lacking_tokens"], status["percent"]) == (0, 40, 100.0)
    shown = cli.ok("index", "status")
    assert "lacking tokens" in shown.out
    assert "found all the same" in shown.err
    assert "waits" not in shown.err
    assert cli.json("recall", "note 7")["degraded"] is False
    assert cli.json("index", "rebuild", "--resume")["lacking_tokens"] == 0
    assert "lacking" not in cli.ok("index", "status").out


@pytest.mark.usefixtures("filled")
def test_all_tenants_are_for_the_operator(cli: Cli) -> None:
    cli.ok("remember", "x", "--tenant", "other")
    items = cli.json("index", "status", "--all")["items"]
    assert {item["tenant"]: item["total"] for item in items} == {"local": 40, "other": 1}
    assert cli("index", "status", "--all", "--tenant", "other").code == 2
    assert cli.json("index", "status", "--tenant", "other")["total"] == 1
    admin, user = cli.key("admin"), cli.key("user", "--user", "local")
    assert cli.json("index", "status", "--key", admin)["tenant"] == "local"
    assert cli("index", "status", "--all", "--key", admin).code == 4
    assert cli("index", "status", "--key", user).code == 4
    assert cli("index", "rebuild", "--key", user).code == 4


@pytest.mark.usefixtures("filled")
def test_remote_embedder_that_is_another_or_refuses_a_text_is_told(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with scripted_server(embed_all) as server:
        monkeypatch.setenv("MEMORIST_EMBEDDER_URL", server.url)
        assert cli.json("index", "rebuild")["waiting"] == 0
        told = cli.json("index", "status")
        assert (told["refused"], told["changed"]) == (0, False)
        assert index_finding(cli) is None
        server.requests.clear()
        cli.ok("recall", "a note")
        assert [request.body["input"] for request in server.requests] == [["a note"]]

        def other(reply: Reply, body: Body) -> None:
            rows = [{"index": n, "embedding": [0.6, 0.8]} for n in range(len(body["input"]))]
            reply.json({"error": "no"}, 400) if "note 7" in str(body) else reply.json({"data": rows})

        server.always = other
        assert cli.json("index", "status")["changed"] is True
        assert "makes other vectors than those of local" in cli.ok("index", "status").err
        assert index_finding(cli)["state"] == "warning"
        assert cli.json("index", "rebuild", "--resume")["refused"] == 1
        told = cli.json("index", "status")
        assert (told["waiting"], told["refused"], told["changed"]) == (0, 1, False)
        assert "refused" in cli.ok("index", "status").out
        assert "refuses is found by keyword" in cli.ok("index", "status").err
        assert index_finding(cli) is None
    assert cli.json("index", "status")["changed"] is None  # Nobody is there any more.


def index_finding(cli: Cli) -> dict[str, str] | None:
    found = cli("doctor", "--json").json["checks"]
    return next((one for one in found if one["check"] == "index"), None)
