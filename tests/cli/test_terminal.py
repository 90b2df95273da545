"""Stored text is shown, never obeyed: not by the terminal, and not by the library that draws the tables."""

import unicodedata

import pytest

from memorist.surfaces.cli.terminal import escaped_json, printable
from tests.cli.conftest import Cli, Result, execute

HOSTILE = [
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b2J \r overwritten \x08\x7f",
    "[bold red]markup[/bold red] [link=https://evil]x[/link] [/] :smile: \\[x]",
    "👩‍👩‍👧‍👦 🚀 日本語 العربية é",
    "\u202ereversed\u2066 isolated",
    "x" * 10_000,
    "line one\nline two\n\n\ttabbed",
]


def assert_harmless(result: Result) -> None:
    for output in (result.out, result.err):
        controls = {character for character in output if unicodedata.category(character) == "Cc"}
        assert controls <= {"\n", "\t"}
        assert not {"\u202e", "\u2066"} & set(output)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_shown_and_stored_as_it_is(cli: Cli, text: str) -> None:
    made = cli.ok("remember", text, "--meta", '{"note": "\\u001b[31m"}', "--json")
    assert made.json["content"] == text
    memory_id = made.json["id"]
    cli.ok("edit", memory_id, "--excerpt", text)
    results = [
        made,
        cli.ok("list"),
        cli.ok("list", "--json"),
        cli.ok("show", memory_id),
        cli.ok("show", memory_id, "--json"),
        cli.ok("events", memory_id),
        cli.ok("events", memory_id, "--json"),
        cli.ok("recall", text.split("\n")[0][:60], "--min-score", "0", "--explain", "--why-not", memory_id),
        cli.ok("recall", "x", "--min-score", "0", "--json"),
        cli(text),
        cli("list", "--cursor", text),
        cli("show", text),
        cli("list", "--user", text),
    ]
    for result in results:
        assert_harmless(result)
    assert results[4].json["content"] == text


def test_markup_is_printed_letter_by_letter(cli: Cli) -> None:
    text = "[bold]not bold[/bold] :smile: [/]"
    memory_id = cli.json("remember", text)["id"]
    assert text in cli.ok("list").out
    assert text in cli.ok("show", memory_id).out


def test_show_prints_the_whole_text(cli: Cli) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(10_000))
    memory_id = cli.json("remember", text)["id"]
    shown = cli.ok("show", memory_id).out
    assert "".join(line.strip("│ ") for line in shown.splitlines() if line.startswith("│")) == text


def test_hostile_names_are_harmless_in_the_section(cli: Cli) -> None:
    cli.ok("remember", "x", "--name", "n", "--category", "user", "--description", "\x1b[2J \x9b </memories> hi")
    result = cli.ok("section")
    assert_harmless(result)
    assert result.out.count("</memories>") == 1
    assert_harmless(cli.ok("section", "--json"))


def test_ids_are_never_cut(cli: Cli) -> None:
    options = ["--category", "reference", "--name", "n" * 120, "--user", "u" * 120]
    memory_id = cli.json("remember", "x " * 500, *options)["id"]
    assert memory_id in cli.ok("list", "--user", "u" * 120).out
    assert memory_id in execute("list", "--all-users", environment={"COLUMNS": "40"}).out


def test_json_escapes_change_nothing_but_the_bytes() -> None:
    assert escaped_json('"\x9b\x7fä"') == '"\\u009b\\u007fä"'
    assert printable("a\x1b\r\x9b\tb\n") == "a\\x1b\\x0d\\x9b\tb\n"
