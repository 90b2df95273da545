"""Whether a text is English, by its letters and its small words, and the small words of other languages. Pure."""

import re

_WORD = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")
_ACCENTED = re.compile(r"[\u00df-\u024f\u1e00-\u1eff]")

# Small words that most sentences have. Those that English and another language write alike are in none of the lists.
_ENGLISH = """
the and of to is that it you he for are with his they at be this have from or had by but what some we out other were
all your when up use how said each she which their if will about many then them would like these her him has more
could did my than who been now find made may over after back only our under where why there don isn didn doesn wasn
does should into because any also just very whose whom not one two get got go going went know think want need re ve ll
"""
_GERMANIC = """
der das und ist ich nicht ein eine einen einem einer mit auf für von dem den zu sich auch wie wir ihr mein meine
meinen meiner dein sein seine ihre hast haben habe wird werden kann können wenn aber oder noch schon nach beim zum zur
bei aus doch mal dass weil wo wann wer warum welche welcher welches wieviel sehr immer heute morgen gestern jetzt gibt
hatte waren wurde uns euch dir mich dich ihm ihn sie es du er keine kein ja nein bitte danke het een van niet dat zijn
ik heb hebt heeft voor naar bij ook maar nog wel geen hoe waar wanneer waarom mijn jouw haar ons onze jij hij wij
zij deze dit als dan
"""
_ROMANCE = """
el la los las un una unos unas que de en por con para su sus mi mis tu tus se lo le les del al pero más como qué
cuándo dónde quién cómo cuál cuánto está estoy tengo tiene fue era muy ya hay también hoy ayer mañana nos nuestro ella
ellos este esta eso yo ti sí sobre porque cuando donde quien cual desde hasta hace os uma não em com meu minha meus
minhas seu sua você eu ele ela eles isso isto foi estou tem tenho mas muito já também ontem hoje amanhã quando onde
quem qual quanto porquê da dos na nas ao à pelo pela il gli che di per non è sono ho hai ha abbiamo hanno mio mia miei
tuo tua suo ma anche più molto già oggi ieri domani dove chi quale perché della dello dei degli delle nel nella alla
ai dal dalla si ci ne nei dell nell questo questa quello questi stato essere fare senza sempre poi cosa così uno lui
lei noi voi dobbiamo vorrei puoi grazie ciao allora adesso sei pra aí aqui lá né mês fiz vou vai estava sem só nem
mais bem até depois agora obrigado obrigada dele dela vale bueno entonces ahora siempre nunca gracias hola creo puedo
quiero pues así aquí
"""
_FRENCH = """
des une et est je elle nous vous ils elles dans pour sur avec qui quoi où quand comment pourquoi quel quelle quels
quelles mon mes ton ta tes ses notre votre leur ce cette ces suis sommes êtes sont avez ont était pas plus très aussi
ou donc car déjà hier demain aux chez
"""
# Polish, Czech, Swedish, Danish, Norwegian, Turkish, Indonesian, Romanian, Hungarian and Finnish.
_FURTHER = """
nie jest się czy jak gdzie kiedy mam moja mój ale dla jsem není kde kdy můj och att det som är jag inte på har med för
hur var när mitt min mina jeg ikke hvor hvornår hvem bir bu için çok nasıl nerede zaman benim değil yang tidak ini itu
dengan saya kamu apa kapan mana siapa și nu unde când cine mea hogy egy mikor hol kicsoda ei mutta missä milloin kuka
minun olen
"""
# What says nothing in a question either, but tells no language: written as in English, or in other letters.
_ALIKE = "met y hat war was die in im an am so man also des me te no a as do on e i o u d l j il en"
_CYRILLIC = """
и в во на не что как где когда кто почему зачем какой какая какое какие какую чей чья сколько куда откуда я ты он она
оно мы вы они мой моя моё мои мне меня тебе тебя его её их ему ей нам вам у с со к ко от до за из о об по для был была
было были есть это этот эта эти тот та те но а или же бы ли ещё уже так то
"""

_ENGLISH_WORDS = frozenset(_ENGLISH.split()) | {"I"}
_OTHER_WORDS = frozenset(f"{_GERMANIC} {_ROMANCE} {_FRENCH} {_FURTHER}".split()) - _ENGLISH_WORDS
SMALL_WORDS = _OTHER_WORDS | frozenset(f"{_ALIKE} {_CYRILLIC}".split())
"""Of languages other than English: words that most sentences have."""


def is_english(text: str) -> bool:
    """True too where nothing speaks against it: a name, a number, nothing at all."""
    words = [word if word == "I" else word.lower() for word in _WORD.findall(text)]
    if text.isascii():  # As most are: then only its words can speak against it.
        return sum(map(_ENGLISH_WORDS.__contains__, words)) >= sum(map(_OTHER_WORDS.__contains__, words))
    foreign = sum(map(bool, map(_OTHER_SCRIPT.search, words)))
    if foreign * 4 > len(words):
        return False
    english = others = 0
    for word in words:
        if word in _ENGLISH_WORDS:
            english += 1
        elif word in _OTHER_WORDS or _ACCENTED.search(word):
            others += 1
    return english >= others + foreign
