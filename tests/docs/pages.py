"""The documentation as data: pages, their headings, links and code blocks."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE_CODE = re.compile(r"`[^`\n]*`")
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<(?:img|source)[^>]*? (?:src|srcset)=\"([^\"]+)\"")
_EXEMPTION = re.compile(r"<!-- no test: (.+?) -->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block. `exempt` says why it is not run; `follows`, whether it comes right after the one before."""

    language: str
    text: str
    line: int
    exempt: str | None
    follows: bool


@dataclass(frozen=True)
class Page:
    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @property
    def prose(self) -> str:
        """The page without its code blocks."""
        return _FENCE.sub("", self.text)

    def blocks(self) -> list[Block]:
        found = []
        end = 0
        for match in _FENCE.finditer(self.text):
            between = self.text[end : match.start()]
            exemption = _EXEMPTION.search(between)
            line = self.text.count("\n", 0, match.start()) + 1
            reason = exemption[1] if exemption else None
            found.append(Block(match[1], match[2], line, reason, end > 0 and not between.strip()))
            end = match.end()
        return found

    def headings(self) -> list[str]:
        return [match[2].strip() for match in _HEADING.finditer(self.prose)]

    def anchors(self) -> set[str]:
        """What can stand after `#`, as GitHub makes it from the headings."""
        seen: dict[str, int] = {}
        anchors = set()
        for heading in self.headings():
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
            anchor = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            anchors.add(f"{anchor}-{count}" if count else anchor)
        return anchors

    def links(self) -> list[str]:
        return [match[1] or match[2] for match in _LINK.finditer(_INLINE_CODE.sub("", self.prose))]

    def section(self, heading: str) -> str:
        """What stands beneath a heading, up to the next one of any level. Raises LookupError."""
        parts = _HEADING.split(self.text)
        for index in range(2, len(parts), 3):
            if parts[index].strip() == heading:
                return parts[index + 1]
        raise LookupError(f"{self.name} has no heading {heading!r}")


@cache
def all_pages() -> list[Page]:
    top = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    return [Page(path) for path in [*top, *sorted((ROOT / "docs").rglob("*.md"))]]


def page(name: str) -> Page:
    return Page(ROOT / name)
