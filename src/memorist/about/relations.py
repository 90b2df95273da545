"""Whether two words for what somebody is may be said of one person: a brother is no colleague's namesake. Pure."""

from collections.abc import Iterable

# Words of one line may be said of the same one, and those of two lines are said of two.
_SORTS = (
    "mother mom mum mama mommy mummy Mutter mère maman madre mamá",
    "father dad papa daddy Vater père padre papá",
    "stepmother",
    "stepfather",
    "sister Schwester sœur hermana",
    "brother Bruder frère hermano",
    "daughter son child kid baby Tochter Sohn fille fils hija hijo stepson stepdaughter",
    "wife husband spouse partner girlfriend boyfriend fiancée fiancé Frau Mann mari femme esposa esposo marido",
    "grandmother grandma Oma",
    "grandfather grandpa Opa",
    "aunt Tante",
    "uncle Onkel",
    "cousin",
    "niece",
    "nephew",
    "dog puppy Hund chien perro",
    "cat kitten Katze gata gato",
    "horse",
    "hamster",
    "rabbit",
    "parrot",
)
# Friends, colleagues and neighbours are one circle: many are all of it.
_CIRCLE = ""
_SORT_OF = {word.casefold(): frozenset({words}) for words in _SORTS for word in words.split(" ")}
# What is said of several sorts, by one word of each.
_GENERAL = {
    "parent": "mother father stepmother stepfather",
    "twin": "sister brother",
    "pet": "dog cat horse hamster rabbit parrot",
    "friend Freund Freundin ami amie amigo amiga": "boyfriend colleague",
}
_OF_CIRCLE = frozenset({_CIRCLE})
_SORT_OF |= {
    word.casefold(): frozenset().union(*(_SORT_OF.get(one, _OF_CIRCLE) for one in sorts.split(" ")))
    for words, sorts in _GENERAL.items()
    for word in words.split(" ")
}


def bearers(relations: Iterable[str]) -> dict[str, str | None]:
    """Whom each word means of those who have one name, by the most exact word for that one: "cat", where one is a cat
    and a pet. None where it may mean several: a pet, of a cat and a dog.
    """
    known: dict[str, tuple[str, frozenset[str]]] = {}
    meant: dict[str, str | None] = {}
    for relation in sorted(dict.fromkeys(relations), key=lambda one: len(_sorts_of(one)[1])):
        owner, sorts = _sorts_of(relation)
        fitting = [word for word, (whose, others) in known.items() if whose == owner and others & sorts]
        if not fitting:
            known[relation] = owner, sorts
        meant[relation] = relation if not fitting else fitting[0] if len(fitting) == 1 else None
    return meant


def told(relations: Iterable[str]) -> str | None:
    """What the bearers of one name are, one word of each: "brother or colleague"."""
    return " or ".join(dict.fromkeys(word for word in bearers(relations).values() if word)) or None


def _sorts_of(relation: str) -> tuple[str, frozenset[str]]:
    """Whose relative, and of what sorts that may be."""
    owner, _, word = relation.rpartition(" ")
    return owner.casefold(), _SORT_OF.get(word.casefold(), _OF_CIRCLE)
