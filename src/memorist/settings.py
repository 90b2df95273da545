"""One settings object: every setting with its default, its help and what it may be."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ENVIRONMENT_PREFIX = "MEMORIST_"

LOCAL_DATA = ".memorist"
"""The folder of a store that belongs to the folder it is in, such as a project."""

_POSTGRES_SCHEMES = ("postgresql://", "postgres://")
_SQLITE_SCHEME = "sqlite://"


def _setting(default: Any, help: str, check: Callable[[Any], str | None] | None = None, secret: bool = False) -> Any:
    return field(default=default, metadata={"help": help, "check": check, "secret": secret})


def _between(low: float, high: float) -> Callable[[float], str | None]:
    return lambda value: None if low <= value <= high else f"must be between {low} and {high}"


def _address(value: str) -> str | None:
    return None if not value or _is_address(value) else "must be an http:// or https:// address"


def _server_address(value: str) -> str | None:
    # They would be sent in place of the key.
    has_login = _is_address(value) and "@" in urlsplit(value).netloc
    return "must be an address without a name or a password" if has_login else _address(value)


def _is_address(value: str) -> bool:
    try:
        parts = urlsplit(value)
        is_named = bool(parts.hostname) and parts.port != 0
    except ValueError:  # Brackets without their other half, or a port that is none.
        return False
    return is_named and value.startswith(("http://", "https://")) and re.search(r"[\s\x00-\x1f\x7f]", value) is None


def key_complaint(value: str) -> str | None:
    """What is wrong with a key; None where it can be sent."""
    is_sendable = value.isascii() and value.isprintable()
    return (
        None
        if is_sendable
        else "must be plain ASCII on one line: a word processor may have changed its quotes or dashes"
    )


def _origins(value: str) -> str | None:
    parts = [part.strip() for part in value.split(",") if part.strip()]
    known = all(part == "*" or re.fullmatch(r"https?://[^/\s]+", part) for part in parts)
    return None if known else "must be origins such as https://app.example.org, without a path"


def _one_of(*choices: str) -> Callable[[str], str | None]:
    return lambda value: None if value in choices else f"must be one of {', '.join(choices)}"


def _llm(value: str) -> str | None:
    provider, _, model = value.partition(":")
    known = not value or (provider in ("anthropic", "openai") and model.strip())
    return None if known else "must be anthropic:MODEL or openai:MODEL"


def _judge(value: str) -> str | None:
    known = value in ("auto", "local") or _llm(value) is None
    return None if known else "must be auto, local, anthropic:MODEL or openai:MODEL"


def _prices(value: str) -> str | None:
    parts = value.split("/")
    known = not value or (len(parts) == 2 and all(re.fullmatch(r"\d+(\.\d+)?", part) for part in parts))
    return None if known else "must be two numbers such as 3/15"


def _folders(value: str) -> str | None:
    known = all(part.startswith(("/", "~")) and part.strip("/") for part in value.split(os.pathsep) if part)
    return None if known else f"must be absolute folders other than /, separated by {os.pathsep}"


def _known_database(value: str) -> str | None:
    if value.removeprefix(_SQLITE_SCHEME) == ":memory:":
        return "must be durable: a temporary folder does for tests"
    known = "://" not in value or value.startswith((*_POSTGRES_SCHEMES, _SQLITE_SCHEME))
    return None if known else "must be a postgresql:// URL or the path of a file"


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. docs/reference/settings.md has a heading for each, or a test fails."""

    data: Path = _setting(
        Path("~/.local/share/memorist"),
        "Folder of the embedded database and of the local key. Where nobody names one, a folder `.memorist` of yours "
        "in the working folder or above it comes before the default.",
    )
    database: str = _setting(
        "", "Database: a postgresql:// URL or a SQLite file. Empty: memorist.db in the data folder.", _known_database
    )
    host: str = _setting(
        "127.0.0.1",
        "Address that the server listens on. Other than loopback, it needs a key to exist.",
        lambda value: None if value.strip() else "must not be empty; 0.0.0.0 is every address",
    )
    port: int = _setting(8377, "Port that the server listens on; 0 takes a free one.", _between(0, 65535))
    workers: int = _setting(
        1,
        "Processes that serve together on one machine, on one socket. Each has its own models, indexes in memory, "
        "connections to the database and limits.",
        _between(1, 64),
    )
    first_key: str = _setting(
        "",
        "File of the first key, an admin's, for a database that has none yet: the key in it is taken, or one is made "
        "and written there. Empty: local.key in the data folder, on loopback only.",
    )
    tls_cert: str = _setting(
        "", "Certificate that the server speaks TLS with, a PEM file with its chain. Empty: plain HTTP."
    )
    tls_key: str = _setting("", "Its private key, a PEM file. Both are read anew when they change.")
    ca_file: str = _setting(
        "", "Certificates of authorities, a PEM file, that are trusted beside the system's where `url` is https."
    )
    encryption_key_file: str = _setting(
        "",
        "File of the master key that tenants are encrypted with: 32 bytes in Base64; older ones, on lines after it, "
        "only decrypt. Empty, with the next two: tenants are stored in plain text.",
    )
    encryption_key: str = _setting("", "The same, given here.", secret=True)
    encryption_key_command: str = _setting(
        "", "A command that prints the same, run without a shell when Memorist starts.", secret=True
    )
    tenant: str = _setting("local", "Tenant that the command line acts in.")
    user: str = _setting("local", "User that the command line acts as.")
    agent: str = _setting("", "Agent (profile) that the command line acts as. Empty: none.")
    api_key: str = _setting(
        "", "API key that the command line acts with, instead of tenant, user and agent.", secret=True
    )
    url: str = _setting(
        "",
        "Address of a server that the command line, `memorist mcp` and the hooks talk to, with the API key, instead of "
        "opening the database. Empty: none.",
        _server_address,
    )
    connection: str = _setting(
        "",
        "Name of a server that `memorist connect` keeps: its address and its key are used. Empty: the default one, if "
        "there is one and no store is named.",
    )
    allowed_hosts: str = _setting(
        "",
        "Names by which MCP clients reach the server, separated by commas, such as memory.example.org. localhost and "
        "IP addresses are always taken.",
    )
    allowed_origins: str = _setting(
        "",
        "Web origins whose pages may call the server from a browser, separated by commas, such as "
        "https://app.example.org; * is any. Empty: none.",
        _origins,
    )
    hook_wait_ms: int = _setting(
        250,
        "Longest time that a coding assistant's session waits, when it starts, for its memories; what is not ready by "
        "then comes with the first prompt.",
        _between(0, 60_000),
    )
    hook_budget_tokens: int = _setting(
        2000, "Most tokens of memories that a coding assistant's session starts with.", _between(100, 100_000)
    )
    body_limit: int = _setting(1_048_576, "Largest request body, in bytes.", _between(1024, 1_073_741_824))
    upload_limit: int = _setting(
        134_217_728,
        "Largest request body of a tool's output, of a transcript, of an import or of a file uploaded in the "
        "dashboard, in bytes. Where body_limit is larger, that counts.",
        _between(1024, 1_073_741_824),
    )
    header_limit: int = _setting(
        32_768, "Most bytes of the request line and the headers; there may be 100 headers.", _between(1024, 1_048_576)
    )
    header_timeout_s: float = _setting(
        10.0, "How long a connection may take until the headers of its request are there.", _between(0.05, 3600)
    )
    body_timeout_s: float = _setting(
        30.0, "How long a body may stand still while it is sent, or an answer while it is read.", _between(0.05, 3600)
    )
    idle_timeout_s: float = _setting(
        15.0, "How long a connection is kept open for the next request.", _between(0.05, 3600)
    )
    connections: int = _setting(
        0,
        "Most connections at a time; one that waits is closed for a new one. 0: half of the descriptors that are "
        "left, and no more than 4096.",
        _between(0, 1_000_000),
    )
    connections_per_peer: int = _setting(
        0,
        "The same for one address; behind a reverse proxy all connections are the proxy's. 0: three quarters of all.",
        _between(0, 1_000_000),
    )
    key_rate: float = _setting(
        5000.0, "Requests a second that one key may make, twice as many at first; 0: any.", _between(0, 1_000_000)
    )
    key_at_once: int = _setting(
        128,
        "Requests of one key that are worked on at once; others wait, eight times as many; 0: any.",
        _between(0, 10_000),
    )
    user_rate: float = _setting(
        2000.0, "Requests a second that may be made for one user, likewise; 0: any.", _between(0, 1_000_000)
    )
    user_at_once: int = _setting(
        32, "Requests for one user that are worked on at once, likewise; 0: any.", _between(0, 10_000)
    )
    requests_at_once: int = _setting(
        1024, "Requests that are worked on or wait, of all together; more are answered 503.", _between(1, 100_000)
    )
    failed_key_delay_s: float = _setting(
        5.0,
        "Longest time that the answer to a wrong key waits; it grows with each from the same address; 0: none.",
        _between(0, 60),
    )
    busy_timeout_ms: int = _setting(10_000, "How long a write waits for another process's lock.", _between(0, 600_000))
    pool_size: int = _setting(10, "Most PostgreSQL connections at a time.", _between(1, 1000))
    pool_timeout_s: int = _setting(10, "How long a request waits for a PostgreSQL connection.", _between(1, 600))
    embedder: str = _setting(
        "local",
        "Meaning search: local, or off for keywords alone. MEMORIST_EMBEDDER_URL goes first.",
        _one_of("local", "off"),
    )
    embedder_url: str = _setting(
        "", "OpenAI-compatible address of a remote embedder, such as http://127.0.0.1:8080/v1. Empty: none.", _address
    )
    embedder_model: str = _setting("", "Model that the remote embedder is asked for.")
    embedder_api_key: str = _setting("", "Key of the remote embedder.", key_complaint, secret=True)
    reranker: str = _setting(
        "local", "Reranking: local or off. MEMORIST_RERANKER_URL goes first.", _one_of("local", "off")
    )
    reranker_url: str = _setting("", "Address of a remote reranker's /rerank. Empty: none.", _address)
    reranker_model: str = _setting("", "Model that the remote reranker is asked for.")
    reranker_api_key: str = _setting("", "Key of the remote reranker.", key_complaint, secret=True)
    reranker_timeout_s: float = _setting(
        2.0, "How long a remote reranker may take; recall then answers without it.", _between(0.05, 600)
    )
    model_timeout_s: int = _setting(10, "How long a remote embedder may take to answer.", _between(1, 600))
    llm: str = _setting(
        "", "Language model: anthropic:MODEL, or openai:MODEL for anything compatible. Empty: none.", _llm
    )
    llm_url: str = _setting(
        "", "Address of the language model, such as http://127.0.0.1:11434/v1. Empty: the provider's own.", _address
    )
    llm_api_key: str = _setting(
        "",
        "Key of the language model. Empty: ANTHROPIC_API_KEY or OPENAI_API_KEY of the environment.",
        key_complaint,
        secret=True,
    )
    llm_timeout_s: int = _setting(
        60,
        "How long the language model may be silent. What is asked for as a whole may take ten times as long.",
        _between(1, 3600),
    )
    llm_prices: str = _setting(
        "", "Dollars for a million input and output tokens, such as 3/15. Empty: those of the table.", _prices
    )
    llm_context_tokens: int = _setting(
        0, "Tokens that the language model reads at most; 0: those of the table.", _between(0, 100_000_000)
    )
    extraction_llm: str = _setting(
        "", "Language model that finds memories in conversations, such as a small one. Empty: that of `llm`.", _llm
    )
    extraction_llm_url: str = _setting("", "Its address. Empty: `llm_url`, where the provider is the same.", _address)
    extraction_llm_api_key: str = _setting(
        "", "Its key. Empty: `llm_api_key`, where the provider is the same.", key_complaint, secret=True
    )
    extraction_answer_tokens: int = _setting(
        4096,
        "Tokens that a language model may write about a part of a conversation. One that thinks first needs more.",
        _between(1, 1_000_000),
    )
    extraction_llm_prices: str = _setting("", "Its prices, such as 0.8/4. Empty: those of the table.", _prices)
    turn_events_days: int = _setting(
        30,
        "Days for which the events and the answer of a turn without a session can be read again; nothing else of it is "
        "kept.",
        _between(0, 36_500),
    )
    turn_timeout_s: int = _setting(300, "How long a turn may take.", _between(1, 86_400))
    turns_at_once: int = _setting(64, "Turns that a process works on at once; others wait.", _between(1, 1000))
    turn_budget_usd: float = _setting(
        0.0, "Dollars that a tenant's turns may cost in a calendar month (UTC); 0: any.", _between(0, 1_000_000)
    )
    extractor: str = _setting(
        "auto",
        "What finds memories in conversations: auto (the language model where there is one), local or off.",
        _one_of("auto", "local", "off"),
    )
    judge_model: str = _setting(
        "auto",
        "Who decides whether a fact contradicts an older one: auto (the local model, and the language model, where "
        "there is one, on what that is unsure of), local, anthropic:MODEL or openai:MODEL. Empty: nobody.",
        _judge,
    )
    judge_topk: int = _setting(5, "Facts that a new one is compared with, the nearest.", _between(1, 100))
    judge_answer_tokens: int = _setting(
        4096,
        "Tokens that a language model may write about two facts. One that thinks first needs more.",
        _between(1, 1_000_000),
    )
    judge_threshold: float = _setting(
        0.7, "Distance, from 0 to 2, beyond which two facts are not compared.", _between(0, 2)
    )
    model_threads: int = _setting(
        0, "Most threads that a local model computes one batch with; 0: as many as cores, up to 8.", _between(0, 64)
    )
    recall_weight_session: float = _setting(
        1.3, "What memories of the current session count in a recall of scope any; 0 leaves them out.", _between(0, 100)
    )
    recall_weight_user: float = _setting(1.1, "What facts about the user count, likewise.", _between(0, 100))
    recall_weight_agent: float = _setting(1.0, "What facts of the agent count, likewise.", _between(0, 100))
    recall_weight_tenant: float = _setting(
        1.0, "What documents and facts that the tenant shares count, likewise.", _between(0, 100)
    )
    recall_weight_history: float | None = _setting(
        None,
        "What was said in the user's other sessions counts, likewise. Empty: 1, or 0 where recall_weight_session is 0.",
        _between(0, 100),
    )
    recall_min_score: float = _setting(
        0.02, "Score from 0 to 1 below which a memory is not relevant, and recall returns nothing.", _between(0, 1)
    )
    recall_budget_ms: float = _setting(
        100.0,
        "Milliseconds for a recall with the local reranker, or for composing context; a page of the dashboard that "
        "shows either has three quarters of them. It reads in what is left: at least 2 and at most 40 candidates, "
        "fewer on a slower machine. 0: all 40, however long it takes.",
        _between(0, 60_000),
    )
    index_inline: int = _setting(
        8,
        "Most memories in one write that are embedded before it returns; more, and long ones, wait for the background.",
        _between(0, 1000),
    )
    index_memory_mb: int = _setting(
        512,
        "Memory for the indexes of the users searched last; about 1 KB a memory, and little for those that are saved.",
        _between(16, 1_000_000),
    )
    index_folder: str = _setting(
        "",
        "Where large indexes are saved, so that the next process need not read them anew: a folder of this database's "
        "own, on a local disk, the same for all processes of a machine, so that an erasure finds it. Empty: "
        "`memorist.db-shelves` beside the embedded database, nowhere for PostgreSQL. Nothing is saved where a master "
        "key is set.",
    )
    index_disk_mb: int = _setting(
        4096,
        "Disk space for saved indexes; about 1 KB a memory. Those used least lately make room. 0: none are saved.",
        _between(0, 10_000_000),
    )
    check_interval_s: int = _setting(
        3600,
        "Seconds between two looks of the server for damage in an SQLite file, of 10 seconds each; the first is at its "
        "start. 0: none.",
        _between(0, 604_800),
    )
    backup_every_hours: float = _setting(
        0.0, "Hours between two backups that the server makes of the embedded database; 0: none.", _between(0, 8760)
    )
    backup_folder: str = _setting("", "Where those backups go. Empty: `backups` in the data folder.")
    backup_keep_days: int = _setting(7, "Days of which the last such backup is kept, with today.", _between(1, 36_500))
    backup_keep_weeks: int = _setting(
        4, "Weeks of which the last such backup is kept, with this one; 0: none.", _between(0, 5_200)
    )
    context_tokens: int = _setting(
        2500,
        "Most tokens of memories that an agent is given at once, in turns and elsewhere. A companion's summary and "
        "turns have as many again for its entries, and a turn lists all named memories of its profile besides.",
        _between(100, 100_000),
    )
    tool_output_preview: int = _setting(
        4000,
        "Characters of a tool's output that its memory shows; the whole is kept beside it.",
        _between(200, 100_000),
    )
    transcript_roots: str = _setting(
        "",
        "Folders below which the coding-assistant API may read transcripts by their path, separated by colons, such as "
        "~/.claude/projects. Whoever may write here may have them read. Empty: none.",
        _folders,
    )
    session_hours: float = _setting(
        168, "How long somebody stays signed in to the dashboard, in hours.", _between(0.01, 8760)
    )
    recall_history: int = _setting(
        20,
        "Recalls of each memory that are kept, with the question, for the dashboard to show; 0: none.",
        _between(0, 1000),
    )
    audit: str = _setting(
        "all",
        "What the audit log notes: all, changes (everything but reads that went well) or off.",
        _one_of("all", "changes", "off"),
    )
    audit_days: int = _setting(
        365, "Days for which the entries of the audit log are kept; 0: for ever.", _between(0, 36_500)
    )
    redact: str = _setting(
        "on", "Secrets in what is written are replaced before it is stored: on or off.", _one_of("on", "off")
    )
    purge_at_once: int = _setting(
        5000,
        "Rows that are erased while the request for it waits; of more, the server answers 202 and finishes in the "
        "background.",
        _between(0, 100_000_000),
    )
    sweep_interval_s: int = _setting(
        60, "How often the server looks for memories whose time has come; 0: never.", _between(0, 86_400)
    )
    observation_days: int = _setting(
        14,
        "Days from a tenant's first, or from the upgrade that brought this, in which its retention only says what it "
        "would do; 0: none. What the lifecycle API keeps ages from its first day.",
        _between(0, 36_500),
    )
    anonymize_after_days: int = _setting(
        30, "Days until a retired fact is anonymized, where a tenant's policy says nothing else.", _between(0, 36_500)
    )
    metrics: str = _setting(
        "local",
        "Who may read /metrics: local (this machine, and admins by their key), key (admins alone), open (anybody) or "
        "off (nobody, and nothing is counted).",
        _one_of("local", "key", "open", "off"),
    )
    otlp_url: str = _setting(
        "",
        "Collector of OpenTelemetry that traces are sent to over HTTP, such as http://127.0.0.1:4318. Needs the extra "
        "otel. Empty: no traces.",
        _address,
    )
    log_level: str = _setting("info", "Least severe log line written.", _one_of("debug", "info", "warning", "error"))
    log_format: str = _setting(
        "auto", "Log lines as json or as text; auto: as text on a terminal.", _one_of("auto", "json", "text")
    )

    def database_url(self) -> str:
        """Where the memories are: a PostgreSQL URL or the path of an SQLite file."""
        return self.database or str(self.data / "memorist.db")

    def backups_path(self) -> Path:
        """Where backups go that nobody names a file for."""
        return Path(self.backup_folder).expanduser() if self.backup_folder else self.data / "backups"

    def shelves_path(self) -> Path | None:
        """Where indexes are saved; None where they are not."""
        path = self.sqlite_path()
        if self.index_folder:
            return Path(self.index_folder).expanduser()
        return None if path is None else path.with_name(path.name + "-shelves")

    @property
    def lacks_index_folder(self) -> bool:
        """Whether indexes are saved nowhere only because no folder was named."""
        return self.shelves_path() is None and self.index_disk_mb > 0 and not self.encrypts

    @property
    def encrypts(self) -> bool:
        """Whether there is a master key."""
        return bool(self.encryption_key_file or self.encryption_key or self.encryption_key_command)

    def sqlite_path(self) -> Path | None:
        """The file of the embedded database; None where it is PostgreSQL."""
        url = self.database_url()
        return None if url.startswith(_POSTGRES_SCHEMES) else Path(url.removeprefix(_SQLITE_SCHEME)).expanduser()
