"""A Dockerfile as data, and the rules that ours keeps."""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Instruction:
    stage: int
    name: str
    text: str


class Dockerfile:
    def __init__(self, path: Path) -> None:
        self.instructions: list[Instruction] = []
        joined = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", path.read_text("utf-8"), flags=re.M))
        stage = -1
        for line in filter(None, map(str.strip, joined.splitlines())):
            name, _, text = line.partition(" ")
            stage += name == "FROM"
            self.instructions.append(Instruction(stage, name, text.strip()))
        self.last = stage

    def final(self, name: str) -> list[str]:
        """What instructions of that name say in the stage that becomes the image."""
        return [one.text for one in self.instructions if one.stage == self.last and one.name == name]

    @property
    def variables(self) -> dict[str, str]:
        pairs = [pair.partition("=") for text in self.final("ENV") for pair in shlex.split(text)]
        return {name: value for name, _, value in pairs}

    @property
    def entrypoint(self) -> list[str]:
        found: list[str] = json.loads(self.final("ENTRYPOINT")[-1])
        return found

    @property
    def command(self) -> list[str]:
        found: list[str] = json.loads(self.final("CMD")[-1])
        return found

    @property
    def healthcheck(self) -> list[str]:
        found: list[str] = json.loads(self.final("HEALTHCHECK")[-1].partition("CMD ")[2])
        return found

    def complaints(self) -> Iterator[str]:
        """What a linter would say of what matters: a version, no root, few layers, nothing that shells would change."""
        for one in self.instructions:
            yield from self._complaints_of(one)
        users = self.final("USER")
        if not users or users[-1].partition(":")[0] in ("root", "0"):
            yield "the image runs as root"
        if not users or not users[-1].partition(":")[0].isdigit():
            yield "USER is a name: Kubernetes cannot tell that it is not root"
        for name in ("HEALTHCHECK", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"):
            if not self.final(name):
                yield f"there is no {name}"
        last = [one.name for one in self.instructions if one.stage == self.last]
        if "RUN" in last[last.index("USER") :] or "COPY" in last[last.index("USER") :]:
            yield "what comes after USER belongs to the user, who could change it"

    def _complaints_of(self, one: Instruction) -> Iterator[str]:
        if one.name == "FROM" and not re.fullmatch(r"[a-z]+(/[a-z]+)?:[\w.]+-slim( AS \w+)?", one.text):
            yield f"FROM {one.text}: a slim image with its version, and no host"
        if one.name == "ADD":
            yield "ADD unpacks and downloads: COPY"
        if one.name in ("ENTRYPOINT", "CMD") and not one.text.startswith("["):
            yield f"{one.name} in a shell, which keeps signals to itself"
        if one.name == "RUN" and re.search(r"\bsudo\b|curl .*\| *sh|chmod (-R )?777", one.text):
            yield f"RUN {one.text}"
        if one.name == "RUN" and "apt-get install" in one.text and "rm -rf /var/lib/apt/lists" not in one.text:
            yield "lists of packages are left in a layer"
        if re.search(r"(?i)(password|secret|token|api_key)\s*=\s*\S", one.text):
            yield f"a secret in {one.name}"
