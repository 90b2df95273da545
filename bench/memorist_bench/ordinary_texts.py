"""Texts without secrets that look as if they held some: hashes, ids, versions, code, settings, talk about passwords."""

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from random import Random

import memorist
import memorist_bench
from memorist.ids import new_id
from memorist_bench.texts import InventedTurn, conversation

_TEMPLATES = (
    "Reverted {sha} because the nightly build broke; {short} is fine again.",
    "commit {sha}\nAuthor: Ada\nDate:   2026-03-{day}\n\n    Cache the parsed settings",
    "The memory {mem} was written in session {uuid}, see also {tout}.",
    "sha256:{sha256}  memorist-0.{day}.0-py3-none-any.whl",
    "requests=={day}.{n}.1 --hash=sha256:{sha256}",
    "The digest is {md5}, which matches the mirror in {place}.",
    'ETag: W/"{short}-{n}"',
    "GET /v1/memories/{uuid} took {n} ms and returned 200",
    "trace_id={md5} span_id={short}{short} level=info msg=request done in {n}ms",
    "Order {code} ships to {place} on 2026-0{digit}-{day}; tracking number {tracking}.",
    "Call me at +49 30 {phone} or +1 (415) 555-01{day} after lunch.",
    "IBAN of the club: ask {name}, not me. The invoice {code} is over {n} euros.",
    "My password manager is great, but I forgot the master password again.",
    "The password must have at least {day} characters, one digit and one sign.",
    "password: required, at least 12 characters",
    "password = getpass.getpass()",
    "password = os.environ['DB_PASSWORD']",
    "token = tokenizer.encode(text, max_length={n})",
    "api_key = settings.embedder_api_key",
    'api_key="YOUR_API_KEY"',
    "export OPENAI_API_KEY=<your key here>",
    "export GITHUB_TOKEN=$(gh auth token)",
    "Authorization: Bearer $TOKEN",
    'headers = {{"Authorization": f"Bearer {{token}}"}}',
    "postgresql://user:password@localhost:5432/app",
    "postgres://$PGUSER:$PGPASSWORD@$PGHOST/app",
    "DATABASE_URL=postgres://localhost:5432/app",
    "secrets:\n  db_password:\n    external: true",
    "env:\n  - name: DB_PASSWORD\n    valueFrom:\n      secretKeyRef:\n        name: db\n        key: password",
    "max_tokens: {n}\ntemperature: 0.{digit}\nmodel: claude-sonnet-4-5",
    "next_page_token: {b64}",
    "Set the secret with `gh secret set DEPLOY_TOKEN` and rerun the workflow.",
    "The key to a good risotto is patience; the secret is the stock.",
    "He said the token gesture was appreciated in {place}.",
    "primary key: (tenant_id, id); foreign key: document_id; sort key: created_at",
    "public_key = {b64}",
    "ssh-ed25519 {b64} ada@laptop",
    "The basic idea: cut early, test often, and bearer bonds are history.",
    "{name} paid by card ending in 42{day}, authorisation went through.",
    "Serial number {serial}, bought {time} in {place}.",
    "ISBN 978-3-16-148410-{digit}, page {n}",
    "The coordinates are {digit}2.520008, 13.404954{day}; it is near {place}.",
    "1731664187{n6} ms since the epoch, or 2026-11-15T10:0{digit}:00Z",
    "DB_PASSWORD=changeme",
    "POSTGRES_PASSWORD=${{POSTGRES_PASSWORD:-postgres}}",
    "docker run -u 1000:1000 -p 8377:8377 memorist:0.{day}.{n}",
    "arn:aws:iam::{n12}:role/deploy-{place}",
    "Look at https://example.org/{place}/photos?id={uuid}&size={n}",
    "git clone https://github.com/example/{place}-tools.git && cd {place}-tools",
    "The session cookie expires after {n} minutes of doing nothing.",
    "class PasswordHasher:\n    def hash(self, password: str) -> str:\n        return self._algorithm(password)",
    "if user.password != request.password: raise Forbidden('wrong password')",
    'const token: string | null = localStorage.getItem("token");',
    "access_token: Optional[str] = None",
    "The access token is refreshed every {n} seconds; the refresh token lives a month.",
    "Wi-Fi password is on the fridge, {name} knows it.",
    "auth: enabled\nauth_backend: ldap\nauth_timeout: {n}s",
    "npm i --save-dev typescript@5.{day}.{digit} eslint-plugin-import@2.{n}",
    "sk-learn and scikit-learn are the same thing; the pk column is the id.",
    "{base}: data:image/png;base64,{b64}{b64}",
    "id_{short} -> id_{uuid}, 0x{sha}, #{short}",
    "Versions: 10.{n}.{day}, v{digit}.{digit}.{day}-rc.1+{short}",
)  # fmt: skip


def ordinary_texts(seed: int, count: int) -> Iterator[str]:
    """So many texts: in turns what people say to each other, and what they paste."""
    random = Random(f"ordinary {seed}")
    turns: Iterator[InventedTurn] = iter(())
    for number in range(count):
        if number % 2:
            yield look_alike(random.choice(_TEMPLATES), random)
            continue
        turn = next(turns, None)
        if turn is None:
            turns = iter(conversation(seed * 100_000 + number, 10))
            turn = next(turns)
        yield turn.text


def own_source() -> Iterator[str]:
    """The source of Memorist itself, function by function: code that speaks of keys, tokens and passwords."""
    for package in (memorist, memorist_bench):
        for path in sorted(Path(str(package.__file__)).parent.rglob("*.py")):
            yield from (part for part in path.read_text("utf-8").split("\n\n\n") if part.strip())


def look_alike(template: str, random: Random) -> str:
    """The template with made-up hashes, ids, names and numbers in it."""
    noise = random.randbytes(32)
    sha256 = hashlib.sha256(noise).hexdigest()
    return template.format(
        sha256=sha256,
        sha=sha256[:40],
        md5=sha256[:32],
        short=sha256[:8],
        uuid=uuid.UUID(bytes=noise[:16], version=4),
        mem=new_id("mem"),
        tout=new_id("tout"),
        b64="AAAAC3NzaC1lZDI1NTE5" + sha256.upper()[:40],
        base=random.choice(("logo", "icon", "photo")),
        name=random.choice(("Amara", "Bruno", "Celine", "Dario")),
        place=random.choice(("Aarhus", "Bergen", "Dakar", "Porto")),
        time=random.choice(("on Monday", "last spring", "two days ago")),
        code=f"{random.choice('KLMNRST')}{random.randrange(10_000, 99_999)}",
        serial=f"{random.choice('ABC')}{random.randrange(10**9, 10**10)}",
        tracking=f"1Z{random.randrange(10**15, 10**16)}",
        phone=random.randrange(10**6, 10**8),
        day=f"{random.randrange(10, 29)}",
        digit=random.randrange(1, 10),
        n=random.randrange(100, 5000),
        n6=f"{random.randrange(10**6):06}",
        n12=random.randrange(10**11, 10**12),
    )
