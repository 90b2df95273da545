"""Lines to paste, which give an agent its memory on this server."""

import json
from typing import NamedTuple

from memorist.surfaces.dashboard.wording import say

PLACEHOLDER = "YOUR_KEY"


class Snippet(NamedTuple):
    name: str
    hint: str
    text: str


def snippets(address: str, key: str) -> tuple[Snippet, ...]:
    """What to paste where, with the address of this server and a key, or what stands for one."""
    return (
        Snippet("Claude Code", say("In a terminal: every later session has the memory."), _claude(address, key)),
        Snippet(say("Any MCP client"), say("In its settings file, as most clients have it."), _mcp(address, key)),
        Snippet("curl", say("Remember something, and ask for it."), _curl(address, key)),
        Snippet("Python", say("With the client, which is part of the package."), _python(address, key)),
    )


def _claude(address: str, key: str) -> str:
    command = f"claude mcp add --scope user --transport http memorist {address}/mcp"
    return f'{command} \\\n  --header "Authorization: Bearer {key}"'


def _mcp(address: str, key: str) -> str:
    server = {"type": "http", "url": f"{address}/mcp", "headers": {"Authorization": f"Bearer {key}"}}
    return json.dumps({"mcpServers": {"memorist": server}}, indent=2)


def _curl(address: str, key: str) -> str:
    headers = f'-H "Authorization: Bearer {key}" -H "Content-Type: application/json"'
    return (
        f"curl {address}/v1/tools/remember_fact \\\n  {headers} \\\n"
        '  -d \'{"content": "I work in the time zone UTC+2."}\'\n\n'
        f"curl {address}/v1/tools/recall \\\n  {headers} \\\n"
        '  -d \'{"query": "Which time zone do I work in?"}\''
    )


def _python(address: str, key: str) -> str:
    return (
        "from memorist.client import Client\n\n"
        f'with Client("{address}", api_key="{key}") as memory:\n'
        '    memory.remember_fact("I work in the time zone UTC+2.")\n'
        '    for hit in memory.recall("Which time zone do I work in?").hits:\n'
        "        print(hit.excerpt)"
    )
