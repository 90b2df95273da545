"""The words of a fact, as they are compared. Pure."""

import re

_WORD = re.compile(r"[\w'@./:-]+")


def words_of(text: str) -> list[str]:
    """The words of a text, without the marks at their ends."""
    return [bare for word in _WORD.findall(text) if (bare := word.rstrip("./:-"))]


def line_of(text: str) -> str:
    """One line without its full stop; 1,200 is 1200."""
    return re.sub(r"(?<=\d),(?=\d{3})", "", " ".join(text.split())).rstrip(".! ")


def counted_words(text: str) -> list[str]:
    """The words in small letters, without articles."""
    return [word for word in words_of(line_of(text.casefold())) if word not in ("the", "a", "an")]


# Of these one has several, and what is told of two of them is told of each.
_ONE_OF_SEVERAL = re.compile(
    r"\b(?:friends?|brothers?|sisters?|siblings?|cousins?|uncles?|aunts?|nephews?|nieces?|sons?|daughters?|child|"
    r"children|kids?|twins?|grand(?:son|daughter|child|mother|father|parent)s?|in-law|colleagues?|co-?workers?|"
    r"neighbou?rs?|room-?mates?|flat-?mates?|class-?mates?|team-?mates?|students?|pupils?|clients?|customers?|"
    r"patients?|members?|guys?|someone|somebody|one of|an?(?= \w)|some|many|most|"
    r"want(?:s|ed)? to|would|might|could|hopes? to|plans? to|dreams? of|considers?|used to|once|never|not|\w+n['’]t|"
    r"appl(?:y|ies|ied) to|going to|interview(?:s|ed|ing)?)\b",
    re.IGNORECASE,
)
# The same in German, Spanish and French, where a capital tells them from names.
_ONE_OF_SEVERAL_ABROAD = re.compile(
    r"\b(?:Freund(?:in)?|Bruder|Schwester|Kind|Sohn|Tochter|Kolleg(?:e|in)|Nachbar(?:in)?|[Ee]ine?|nicht|möchte|"
    r"amig[oa]|herman[oa]|hij[oa]|prim[oa]|colega|vecin[oa]|[Uu]na?|no|quiere|"
    r"amie?|frère|s(?:œ|oe)ur|fils|fille|cousine?|collègue|voisine?|[Uu]ne|veut)\b"
)
# Whom a memory calls so, and no other, is the one that it is about.
_THE_ONE = re.compile(r"the (?:customer|client|patient|student|member)\b", re.IGNORECASE)


def is_one_of_several(who: str) -> bool:
    """Whether the next fact of such a subject may be about another one."""
    known = _THE_ONE.match(who)
    said = who[known.end() :] if known else who
    return any(pattern.search(said) for pattern in (_ONE_OF_SEVERAL, _ONE_OF_SEVERAL_ABROAD))
