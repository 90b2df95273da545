"""Names as a picture: one in the middle, the others on rings around it, and lines between what is named together."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, degrees, pi, sin

from memorist.about.values import USER, NamedThing, NameGraph
from memorist.surfaces.dashboard.wording import say

_INNER = 14
# So many have room on one ring, which a phone shows whole.
_ONE_RING = 24
_RADII = (150, 310)
_LONGEST_LABEL = 16
_ROOM = 130
_THICK = 3


@dataclass(frozen=True, slots=True)
class Dot:
    """One name, where it stands, and how its label is turned so that it reads outwards."""

    thing: NamedThing
    x: int
    y: int
    size: int
    label: str
    turned: int
    is_left: bool
    is_middle: bool = False


@dataclass(frozen=True, slots=True)
class Strokes:
    """The lines between names that look alike, as one path; `weight` is 1 to 3. They say something where `is_telling`:
    nearly all is named with the one in the middle, and with the user.
    """

    weight: int
    is_telling: bool
    path: str


@dataclass(frozen=True, slots=True)
class Picture:
    """`reach` is how far it goes from the middle, labels and all."""

    dots: tuple[Dot, ...]
    strokes: tuple[Strokes, ...]
    reach: int = 0


def picture_of(graph: NameGraph, things: Sequence[NamedThing]) -> Picture:
    """The first of some things in the middle, those that come next on the inner ring, the rest on the outer one."""
    if not things:
        return Picture((), ())
    most = max(len(one.lines) for one in things)
    others = things[1:]
    inner = _ONE_RING if len(others) <= _ONE_RING else _INNER
    rings = [_side_by_side(graph, some) for some in (others[:inner], others[inner:])]
    dots = [_dot(things[0], 0, 0.0, most)]
    for radius, ring in zip(_RADII, rings, strict=True):
        dots += [_dot(one, radius, 2 * pi * index / len(ring), most) for index, one in enumerate(ring)]
    return Picture(tuple(dots), tuple(_strokes(graph, dots)), _RADII[bool(rings[1])] + _ROOM)


def _strokes(graph: NameGraph, dots: Sequence[Dot]) -> Iterator[Strokes]:
    """The lines between some names, those that say something last, so that they lie above the others."""
    by_key = {dot.thing.key: dot for dot in dots}
    plain = {dot.thing.key for dot in dots if dot.is_middle or dot.thing.name == USER}
    paths: defaultdict[tuple[bool, int], list[str]] = defaultdict(list)
    for dot in dots:
        for key, count in graph.links.get(dot.thing.key, {}).items():
            if (other := by_key.get(key)) and dot.thing.key < key:
                alike = (not {dot.thing.key, key} & plain, min(count, _THICK))
                paths[alike].append(f"M{dot.x} {dot.y}L{other.x} {other.y}")
    for (is_telling, weight), path in sorted(paths.items()):
        yield Strokes(weight, is_telling, "".join(path))


def _side_by_side(graph: NameGraph, things: Sequence[NamedThing]) -> list[NamedThing]:
    """The same in an order in which each stands beside what is most often named with it."""
    left = list(things)
    found: list[NamedThing] = []
    while left:
        links: Mapping[str, int] = graph.links.get(found[-1].key, {}) if found else {}
        found.append(left.pop(max(range(len(left)), key=lambda index: links.get(left[index].key, 0))))
    return found


def label_of(thing: NamedThing) -> str:
    return say("You") if thing.name == USER else thing.name


def _dot(thing: NamedThing, radius: int, angle: float, most: int) -> Dot:
    label = label_of(thing)
    if len(label) > _LONGEST_LABEL:
        label = f"{label[: _LONGEST_LABEL - 1].rstrip()}…"
    is_left = pi / 2 < angle < 3 * pi / 2
    turned = 0 if radius == 0 else round(degrees(angle)) + (180 if is_left else 0)
    size = 5 + round(9 * len(thing.lines) / most)
    return Dot(
        thing, round(radius * cos(angle)), round(radius * sin(angle)), size, label, turned % 360, is_left, radius == 0
    )
