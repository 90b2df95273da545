"""Whether a text is English, by its letters and small words; small words of other languages, and greetings. Pure."""

import re
from itertools import repeat

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
_ALIKE = "met y hat war was die in im an am so man also des me te no a as do on e i o u d l j il en qu cos"
_CYRILLIC = """
и в во на не что как где когда кто почему зачем какой какая какое какие какую чей чья сколько куда откуда я ты он она
оно мы вы они мой моя моё мои мне меня тебе тебя его её их ему ей нам вам у с со к ко от до за из о об по для был была
было были есть это этот эта эти тот та те но а или же бы ли ещё уже так то
"""

_ARABIC = """
ما ماذا من متى أين كيف لماذا هل كم أي هو هي هم أنا أنت أنتم نحن هذا هذه ذلك تلك في على إلى عن مع و أو لا نعم كان كانت
يكون ليس لم لن قد الذي التي كل بعد قبل عند لي لك له لها لنا
"""
_HINDI = """
क्या कौन कब कहाँ कहां कैसे कैसा कैसी क्यों कितना कितनी कितने किस किसने किसका किसकी है हैं हूँ हूं हो था थी थे मैं मेरा मेरी मेरे
मुझे मैंने तुम तुम्हारा आप आपका आपकी आपके वह वे यह ये इस उस का की के को से में पर और या नहीं भी तो ही ने हम हमारा हमारी
हमारे एक
"""
# Small words that a question may be about all the same: where was I yesterday?
_DAYS = "heute morgen gestern hoy ayer mañana hoje ontem amanhã oggi ieri domani hier demain"
# What a question may be made of in scripts that put no space between words, and what may follow such a word.
_UNSPACED = """
这 那 这个 那个 这些 那些 这里 那里 这是 那是 的 了 吗 呢 吧 啊 是 不是 是不是 我 你 您 他 她 它 我们 你们 他们 她们
谁 什么 啥 哪 哪里 哪儿 哪个 哪些 何时 怎么 怎样 怎么样 为什么 几 多少 什么时候 有 没有 在 就 也 很 请 请问 不
這 那個 這個 這些 這裡 那裡 這是 我們 你們 他們 誰 什麼 哪裡 怎麼 怎樣 怎麼樣 為什麼 幾 什麼時候 嗎 沒有 請 請問
これ それ あれ どれ この その あの どの ここ そこ あそこ どこ こちら そちら どちら 何 なに なん 誰 だれ いつ なぜ どう
どうして いくつ いくら 何時 私 わたし 僕 俺 あなた 君 彼 彼女 です でした ます ました だった という ください
이것 그것 저것 이거 그거 저거 이게 그게 무엇 뭐 뭘 누구 누가 언제 어디 왜 어떻게 얼마 얼마나 어느 어떤 무슨 몇 나 내
너 네 저 제 우리 당신
"""
_PARTICLES = """
か は が を に の で と も へ ね よ から まで って
은 는 이 가 을 를 의 에 도 에서 입니까 입니다 이에요 예요 이야 야 니 인가요 있어 있어요 있습니까 세요
"""
# Said before or instead of a question, in one word or several.
_GREETINGS = """
hello|hey|hi|bye|goodbye|good morning|good afternoon|good evening|good night|ok|okay|sure|thank|thanks|yes|no
hallo|servus|moin|tschüss|guten tag|guten morgen|guten abend|gute nacht|grüß gott|auf wiedersehen|danke|danke schön
vielen dank|bitte|bitte schön|ja|nein
hola|adiós|buenos días|buenas tardes|buenas noches|gracias|muchas gracias|de nada|por favor|sí|vale
bonjour|bonsoir|salut|coucou|au revoir|merci|merci beaucoup|s'il vous plaît|s'il te plaît|d'accord|oui|non
olá|oi|bom dia|boa tarde|boa noite|tchau|obrigado|obrigada|muito obrigado|muito obrigada|não
ciao|buongiorno|buonasera|buona notte|arrivederci|grazie|grazie mille|prego|per favore|sì
привет|здравствуй|здравствуйте|доброе утро|добрый день|добрый вечер|спокойной ночи|пока|до свидания|спасибо
большое спасибо|пожалуйста|да|нет|ладно
مرحبا|مرحباً|أهلا|أهلاً|أهلا وسهلا|السلام عليكم|صباح الخير|مساء الخير|تصبح على خير|مع السلامة|شكرا|شكراً|شكرا جزيلا
من فضلك|نعم|لا
नमस्ते|नमस्कार|धन्यवाद|शुक्रिया|अलविदा|शुभ प्रभात|शुभ रात्रि|कृपया|हाँ|हां|जी|ठीक है
你好|你好吗|您好|早上好|早安|下午好|晚上好|晚安|再见|谢谢|谢谢你|多谢|不客气|好|好的|嗯|再見|謝謝|謝謝你|多謝|不客氣
こんにちは|こんばんは|おはよう|おはようございます|おやすみ|おやすみなさい|さようなら|ありがとう
ありがとうございます|すみません|はい|いいえ|お願いします|どうも
안녕|안녕하세요|안녕히 가세요|안녕히 계세요|잘 자|감사합니다|고마워|고마워요|고맙습니다|네|예|아니요|아니오|부탁합니다
"""

_ENGLISH_WORDS = frozenset(_ENGLISH.split()) | {"I"}
_OTHER_WORDS = frozenset(f"{_GERMANIC} {_ROMANCE} {_FRENCH} {_FURTHER}".split()) - _ENGLISH_WORDS
SMALL_WORDS = _OTHER_WORDS | frozenset(f"{_ALIKE} {_CYRILLIC} {_ARABIC} {_HINDI}".split())
"""Of languages other than English: words that most sentences have."""
TELLING_SMALL_WORDS = frozenset(_DAYS.split())
"""Those of them that say what a question is about."""
SMALL_UNSPACED_WORDS = frozenset(_UNSPACED.split())
PARTICLES = frozenset(_PARTICLES.split())
"""The same of scripts that put no space between words, and of Korean; and what may follow them there."""
GREETINGS = frozenset(_GREETINGS.strip().replace("\n", "|").split("|"))
"""Of one or several words, in English and in others: what is said before or instead of a question."""

_SPEAKS_FOR = {
    form: 1 if word in _ENGLISH_WORDS else -1
    for word in _OTHER_WORDS | _ENGLISH_WORDS
    for form in ({word} if word == "I" else {word, word.capitalize(), word.upper()} - {"I"})
}
"""What a word says, in each way of writing it, of whether a text is English: all its words are looked up in one go."""

_ALIKE_TOGETHER = re.compile(
    r"\b[Ww]as (?:hat|die|will|darf|soll|kann|muss|macht|mag)\b(?!-)|\b(?:hat|war) (?:am|im)\b|\b[Hh]at die\b"
    r"|^[A-Z]\w+ hat [A-Z]\w+[.!]?$|(?:^|[.!?] )Hat [A-Z]\w* \w"
)
"""Words that are English too, each by itself: what did Ada buy, in German?"""


def is_english(text: str) -> bool:
    """True too where nothing speaks against it: a name, a number, nothing at all."""
    found = _WORD.findall(text)
    if text.isascii():  # As most are: then only its words can speak against it.
        says = sum(map(_SPEAKS_FOR.get, found, repeat(0)))
        return says > 0 or (says == 0 and _ALIKE_TOGETHER.search(text) is None)
    words = [word if word == "I" else word.lower() for word in found]
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
