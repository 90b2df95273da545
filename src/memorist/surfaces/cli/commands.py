"""The table of commands: name, where it lives, and what it does in one line.

Plain data, without a single import, so that `memorist --help` answers at once. The runner loads only the module of the
command that was asked for; `runner.full_app` builds the whole command line from the same table.
"""

PROGRAM = "memorist"
# Set by the completion script when it asks what may come next.
COMPLETION_VARIABLE = "_MEMORIST_COMPLETE"

COMMANDS = (
    ("demo", "demo:demo", "Take a tour of half a minute in a temporary store."),
    ("serve", "serve:serve", "Run the server."),
    ("remember", "writing:remember", "Store one memory."),
    ("recall", "recall:recall", "Find the memories that answer a question."),
    ("ingest", "ingest:ingest", "Store files: documents and conversations."),
    ("list", "reading:list_", "List memories, newest first."),
    ("show", "reading:show", "Show one memory in full."),
    ("edit", "writing:edit", "Change fields of a memory."),
    ("forget", "writing:forget", "Delete memories: gone from every list at once."),
    ("events", "reading:events", "Show what happened to a memory."),
    ("section", "reading:section", "Print the memory section for a system prompt."),
    ("export", "transfer:export", "Write all memories and their history as lines of JSON."),
    ("import", "transfer:import_", "Store what an export holds."),
    ("index", "index:app", "Show and rebuild the index of meanings."),
    ("reset", "reset:reset", "Erase memories for good."),
    ("doctor", "doctor:doctor", "Check this installation and say what to do."),
    ("keys", "keys:app", "Create, list and revoke API keys."),
    ("tenants", "tenants:app", "Create and list tenants."),
    ("db", "db:app", "Migrate, inspect and check the database."),
    ("config", "config:app", "Show the settings and where they come from."),
    ("bench", "bench:app", "Measure how well and how fast recall works here."),
    ("completion", "completion:completion", "Print the completion script of a shell."),
)


def help_text() -> str:
    """What `memorist --help` prints."""
    width = max(len(name) for name, _, _ in COMMANDS) + 2
    return "\n".join(
        [
            "Memorist: long-term memory for AI agents.",
            "",
            "Usage: memorist COMMAND [OPTIONS]",
            "       memorist --version",
            "",
            "Commands:",
            *[f"  {name:{width}}{summary}" for name, _, summary in COMMANDS],
            "",
            "Every command takes --data DIR or --database URL, and --json.",
            "`memorist COMMAND --help` describes a command and its options.",
        ]
    )
