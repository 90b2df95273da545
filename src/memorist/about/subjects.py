"""Who does what people do, at the beginning of a sentence: "Ada likes tea." Pure.

Any word is capitalised there, so that such a name is a guess: words that stand for people, such as "Everyone" and
"Management", are none, and neither is what other texts have in small letters.
"""

import re
from collections.abc import Callable, Iterable, Iterator

_NAME = r"[^\W\d_a-zß-öø-ÿ][\w-]{0,40}[^\W\d_]"
_PERHAPS = r"(?:(?:also|really|still|now|always|never|usually|often|once|recently|just|only) )?"
_DOES = (
    "likes|loves|hates|dislikes|prefers|enjoys|adores|wants|wishes|hopes|thinks|believes|feels|fears|misses|"
    "said|says|told|asked|lives|lived|moved|married|studies|studied|teaches|taught|graduated|retired|plays|played|"
    "drinks|eats|cooks|bakes|speaks|drives|rides|swims|sings|dances|paints|collects|owns|adopted|"
    "visited|travelled|traveled|flew|met|invited|phoned|hired|called|promised|decided|forgot|remembers|"
    "(?:works|worked) (?:at|for|as)|"
    r"(?:is|was) (?:allergic|married|engaged|divorced|pregnant|vegan|vegetarian|afraid|born|\d+ years)|"
    "has a (?:sister|brother|daughter|son|dog|cat|crush|cold)|"
    "mag|liebt|hasst|wohnt|lebt|arbeitet|studiert|spielt|trinkt|isst|heißt|"
    "aime|adore|habite|travaille|étudie|vive|trabaja|estudia|odia|prefiere"
)
_HAS = "birthday|favou?rite|hobby|wedding|husband|wife|sister|brother|mother|father|son|daughter"
_SUBJECT = re.compile(
    rf"(?:[.!?…]\s+|(?:^|\n)[^\S\n]*(?:[-*•–][^\S\n]*)?)(?P<name>{_NAME}(?: {_NAME})?)"
    rf"(?: {_PERHAPS}(?:{_DOES})|['’]s (?:{_HAS}))\b"
)
# They do what people do, and none is called so.
_NOBODY = re.compile(
    "(?:"
    "accounting|actually|admin|administration|after|afterward|agency|agent|all|alle|also|although|always|another|anybody|"
    "anything|apparently|dinner|everything|hardly|life|mostly|never|nothing|often|only|project|rarely|really|recently|"
    "something|still|strongly|usually|work|dort|heute|hier|immer|jetzt|unser|unsere|él|qui|où|quién|"
    "das|dein|deine|dem|den|der|die|du|elle|ella|ellos|ich|ihr|ihre|il|je|mein|meine|nous|tu|vous|warum|wir|wo|yo|"
    "anyone|as|at|audience|author|bank|because|before|benutzer|benutzerin|board|both|boy|brand|"
    "business|buyer|by|candidate|chef|chefin|citizen|class|client|committee|community|company|congress|"
    "consultant|contractor|council|couple|crew|crowd|currently|customer|department|design|designer|"
    "developer|director|each|editor|either|employee|employer|engineer|engineering|er|es|every|everybody|"
    "everyone|family|few|finance|first|for|former|founder|from|girl|god|government|group|guest|guy|"
    "hence|host|hr|jede|jeder|jemand|kollege|kollegin|kunde|kundin|la|last|later|latter|lawyer|le|"
    "leadership|legal|lehrer|lehrerin|man|management|many|market|marketing|meanwhile|member|most|neither|"
    "niemand|nobody|none|nutzer|nutzerin|office|officer|once|one|operation|originally|other|owner|"
    "participant|patient|people|person|player|police|president|previously|procurement|product|public|qa|"
    "reader|recruiter|research|researcher|reviewer|sales|school|schüler|second|security|several|sie|"
    "since|society|some|somebody|someone|sometime|speaker|staff|student|supplier|support|team|tenant|"
    "the|though|to|today|tomorrow|tonight|tourist|university|until|user|usuaria|usuario|utilisateur|"
    "utilisatrice|vendor|visitor|voter|wer|whatever|whichever|while|whoever|with|woman|worker|world|"
    "yesterday"
    ")s?",
    re.IGNORECASE,
)
_ADVERB = re.compile(r"\w{2,}ly")
_WORD = re.compile(r"\w+")


def subjects_in(text: str, is_none: Callable[[str], object]) -> Iterator[str]:
    """Who seems to be a person by what sentences say of them; `is_none` knows words that are no names."""
    for match in _SUBJECT.finditer(text):
        words = match["name"].split(" ")
        is_led = len(words) > 1 and _ADVERB.fullmatch(words[0])
        if not is_led and not any(is_none(word) or _is_nobody(word) for word in words):
            yield match["name"]


def in_small_letters(texts: Iterable[str]) -> set[str]:
    """The words that texts have in small letters."""
    return {word for text in texts for word in _WORD.findall(text) if word[0].islower()}


def _is_nobody(word: str) -> bool:
    # Others write in capitals to be loud.
    return word.isupper() or _NOBODY.fullmatch(word) is not None
