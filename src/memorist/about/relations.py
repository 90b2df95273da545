"""Whether two words for what somebody is may be said of one person: a brother is no colleague's namesake. Pure."""

from collections.abc import Iterable

# Words of one line may be said of the same one. Friends, colleagues and neighbours are one circle: many are all of it.
_SORTS = (
    "mother mom mum parent Mutter mère madre",
    "father dad Vater père padre",
    "stepmother",
    "stepfather",
    "sister twin Schwester sœur hermana",
    "brother Bruder frère hermano",
    "daughter son child kid baby Tochter Sohn fille fils hija hijo stepson stepdaughter",
    "wife husband spouse partner girlfriend boyfriend fiancée fiancé Frau Mann mari femme esposa esposo marido",
    "grandmother grandma",
    "grandfather grandpa",
    "aunt Tante",
    "uncle Onkel",
    "cousin",
    "niece",
    "nephew",
    "dog puppy pet Hund chien perro",
    "cat kitten Katze gata gato",
    "horse",
    "hamster",
    "rabbit",
    "parrot",
)
_SORT_OF = {word.casefold(): words for words in _SORTS for word in words.split(" ")}


def sort_of(relation: str) -> tuple[str, str]:
    """Whose relative, and of what sort: where two differ, they are two people."""
    owner, _, word = relation.rpartition(" ")
    return owner.casefold(), _SORT_OF.get(word.casefold(), "")


def told(relations: Iterable[str]) -> str | None:
    """What the bearers of one name are, one word of each sort: "brother or colleague"."""
    by_sort: dict[tuple[str, str], str] = {}
    for relation in relations:
        by_sort.setdefault(sort_of(relation), relation)
    return " or ".join(by_sort.values()) or None
