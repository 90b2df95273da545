"""The table of commands: name, where it lives, and what it does in one line.

Plain data, without a single import, so that `memorist --help` answers at once. The runner loads only the module of the
command that was asked for, a sibling of this one unless its name has a dot; `runner.full_app` builds the whole command
line from the same table.
"""

PROGRAM = "memorist"
# Set by the completion script when it asks what may come next.
COMPLETION_VARIABLE = "_MEMORIST_COMPLETE"

COMMANDS = (
    ("demo", "demo:demo", "Take a tour of half a minute in a temporary store."),
    ("serve", "serve:serve", "Run the server."),
    ("top", "top:top", "Show live what a running server does."),
    ("dashboard", "dashboard:dashboard", "Print a link that signs you in to the dashboard."),
    ("mcp", "mcp:mcp", "Serve an MCP client over stdin and stdout."),
    ("install", "install:install", "Give a coding assistant its memory: MCP server and hooks."),
    ("uninstall", "install:uninstall", "Take from a coding assistant what install gave it."),
    ("hook", "hook:hook", "Answer a hook of a coding assistant."),
    ("remember", "writing:remember", "Store one memory."),
    ("fact", "facts:fact", "Store one fact, and retire what it contradicts."),
    ("recall", "recall:recall", "Find the memories that answer a question."),
    ("ingest", "ingest:ingest", "Store files: documents and conversations."),
    ("turn", "turns:turn", "Ask the language model, with what is remembered."),
    ("chat", "turns:chat", "Talk with the language model, line by line."),
    ("memory", "turns:memory", "List what a companion remembers of you."),
    ("about", "facts:about", "Show what is known of you, or of another person."),
    ("extract", "extract:extract", "Find what is worth remembering in a transcript."),
    ("list", "reading:list_", "List memories, newest first."),
    ("show", "reading:show", "Show one memory in full."),
    ("edit", "writing:edit", "Change fields of a memory."),
    ("forget", "writing:forget", "Delete memories: gone from every list at once."),
    ("archive", "retention:archive", "Archive memories: out of recall, readable by id."),
    ("restore", "retention:restore", "Restore archived or deleted memories."),
    ("events", "reading:events", "Show what happened to a memory."),
    ("watch", "watch:watch", "Print changes of memories as they happen."),
    ("history", "facts:history", "Show the facts that replaced each other, and why."),
    ("doubts", "facts:doubts", "Decide about facts that may contradict each other."),
    ("jobs", "jobs:app", "Look after work that is done in the background."),
    ("context", "reading:context", "Print what an agent is given for a question."),
    ("section", "reading:section", "Print the memory section for a system prompt."),
    ("export", "transfer:export", "Write all memories and their history as lines of JSON."),
    ("import", "transfer:import_", "Store what an export holds."),
    ("index", "index:app", "Show and rebuild the index of meanings."),
    ("reset", "reset:reset", "Erase memories for good."),
    ("policy", "retention:app", "Show and change how long memories are kept."),
    ("sweep", "retention:sweep", "Do what time asks for: expire, archive, delete and purge."),
    ("purge", "erasure:purge", "Erase everything of a user, with a receipt."),
    ("erase", "erasure:app", "Check, list and finish erasures."),
    ("backup", "backup:app", "Back up and restore the database."),
    ("encryption", "encryption:app", "Encrypt what tenants have, and change the keys."),
    ("upgrade", "upgrade:upgrade", "Bring the database up to this version, with a backup first."),
    ("doctor", "doctor:doctor", "Check this installation and say what to do."),
    ("support-bundle", "support_bundle:support_bundle", "Write what helps others to help you, without contents."),
    ("keys", "keys:app", "Create, list and revoke API keys."),
    ("audit", "audit:app", "Show, check and export who did what."),
    ("tokens", "tokens:app", "Make and revoke tokens of users, for browsers."),
    ("tenants", "tenants:app", "Create, list and delete tenants."),
    ("db", "db:app", "Migrate, inspect and check the database."),
    ("connect", "connect:connect", "Keep the address and the key of a server under a name."),
    ("config", "config:app", "Show the settings and where they come from."),
    ("bench", "memorist_bench.commands:app", "Measure how well and how fast recall works here."),
    ("completion", "completion:completion", "Print the completion script of a shell."),
)

GROUPS = (
    ("Begin", "demo serve dashboard connect install uninstall mcp hook"),
    ("Remember and recall", "remember fact recall context section ingest extract about turn chat memory"),
    ("Look after memories", "list show edit forget archive restore events history doubts watch"),
    ("Move and erase", "export import reset purge erase"),
    ("Run it", "top policy sweep jobs index audit backup encryption upgrade doctor support-bundle db"),
    ("Who may", "keys tokens tenants"),
    ("This program", "config bench completion"),
)
"""What belongs together in the help, by names; whatever is in none of them comes last."""


def grouped() -> list[tuple[str, list[tuple[str, str]]]]:
    """The names of the commands and what each does, under their headings."""
    summaries = {name: summary for name, _, summary in COMMANDS}
    found = [(title, [(name, summaries.pop(name)) for name in names.split()]) for title, names in GROUPS]
    return [*found, ("Others", list(summaries.items()))] if summaries else found


def help_text() -> str:
    """What `memorist --help` prints."""
    width = max(len(name) for name, _, _ in COMMANDS) + 2
    shown = [
        line
        for title, commands in grouped()
        for line in ("", f"{title}:", *[f"  {name:{width}}{summary}" for name, summary in commands])
    ]
    return "\n".join(
        [
            "Memorist: long-term memory for AI agents.",
            "",
            "Usage: memorist COMMAND [OPTIONS]",
            "       memorist --version",
            *shown,
            "",
            "Every command takes --data DIR or --database URL, and --json, at its end: `memorist jobs list --json`.",
            "What reads and writes memories speaks to a server as well: --url URL, or --connection NAME.",
            "`memorist COMMAND --help` describes a command and its options.",
        ]
    )
