"""Secrets as people state them, in nine languages: "pw for the box is …", "Mein Kennwort lautet …", "密码是…".

Patterns are over bytes, so that a letter beyond ASCII never stands in a class. Names come first, then what may stand
between, then the value, which must hold a digit or a sign unless it is quoted; checks judge it.
"""

_TOKENS = (
    r"api[ -]?(?:key|schl(?:ü|ue)ssel)|clave (?:de )?(?:la )?api|cl(?:é|e) (?:d'|de l')?api|chave (?:da |de )?api|"
    r"chiave (?:dell'|di )?api|\bsecret|\btoken|\bjeton"
)
_WESTERN = (
    r"pass(?:wor[dt]|phrase|code|wd)|kennwort|contrase(?:ñ|n)a|\bclave|mot de passe|\bsenha|palavra[ -]passe|"
    r"parola d'ordine|(?:wifi|wi-fi|wlan)[ -](?:key|schl(?:ü|ue)ssel)|"
    r"(?:cl(?:é|e)|chiave|chave|clave) (?:del? |do )?(?:wifi|wi-fi)|"
    r"\bpwd\b|credentials|credenziali|\bcreds"
)
_CONNECTORS = (
    r"is|was|are|be|to|as|now|still|with|and|ist|war|lautet|auf|hei(?:ß|ss)t|habe? ich|(?:ü|ue)brigens|jetzt|es|era|"
    r"ser(?:á|a)|en|a|y|como|ahora|est|sera|c'est|à|et|maintenant|é|foi|para|e|agora|è|in|su|adesso|ora|это|на|теперь"
)
_PART = r"[^\s,:=]{0,23}[^\s,:=.!?;]"
_BETWEEN = rf"(?:[ ,]+{_PART}){{0,7}}?"
# An equals sign without a space is an assignment, which other rules know.
_EQUALS = r"(?: *: *| += *|= +| +-{1,2} )"
_STATES = rf"(?:{_BETWEEN}[ ,]+(?:{_CONNECTORS}) *[:=]? *|{_BETWEEN}{_EQUALS}|'s +| +)"
_WORD = r"""[^\s"'`\\<>(){}\[\],;|]"""
_START = r"""[^\s"'`\\<>(){}\[\],;|=:_.-]"""
_TELLING = r"[0-9!@#$%^&*+=~_]|(?-i:[a-z][A-Z]|[A-Z]{2}[a-z])"
_VALUE = (
    r"""("[^"\r\n\\]+|'[^'\r\n\\]+|`[^`\r\n]+|"""
    rf"(?:[0-9!@#$%^&*+~]|(?-i:[A-Z]{{2}}[a-z])|{_START}{_WORD}*(?:{_TELLING})){_WORD}*)"
)
SPOKEN_PASSWORD = rf"(?i)({_WESTERN}|{_TOKENS}){_STATES}{_VALUE}"
# Short names count with what follows them, so that few texts hold them.
SPOKEN_PW = (
    rf"(?i)\b(pass|pw|psw|mdp)[ :=](?:(?:{_PART}[ ,]+){{0,7}}?(?:{_CONNECTORS}) *[:=]? +|"
    rf"(?:{_PART}[ ,]+){{0,6}}?{_PART}{_EQUALS}| *[:=]? *){_VALUE}"
)
# Without their first letters, which have two forms.
SPOKEN_PASSWORD_RUSSIAN = rf"(арол[\x80-\xff]{{2,4}}){_STATES}{_VALUE}"

_FAR_EASTERN = (
    "密码|密碼|口令|パスワード|パスフレーズ|パスコード|合言葉|パス(?:は|を)|密钥|密鑰|金鑰|令牌|トークン|APIキー|アクセスキー|"
    "シークレット"
)
# Signs of three bytes each; commas and full stops among them are for the check to find.
SPOKEN_PASSWORD_FAR_EAST = (
    rf"""({_FAR_EASTERN})(?:[\x80-\xff]{{3}}|[ :="]){{0,12}}?"""
    r"([!#-&*+./0-9?@A-Z^_a-z~-][!#-&*+./0-9=?@A-Z^_a-z~:-]{3,})"
)
PASSWORD_LAST = (
    rf"""(?i)(?:\b(?:use|usa|utilise|nimm|verwende|benutze)[ ]+|用)["]?({_WORD}{{6,}})["]? *"""
    rf"(?:as|als|como|comme|come|作为|作為|当|當) *(?:[a-z]+ +){{0,3}}?(?:{_WESTERN}|密码|密碼)"
)

_PLACES = (
    r"alarm|allarme|tresor|safe|t(?:ü|ue)r|door|gate|garage|keypad|lock|vault|entry|entrance|access|zugang|acceso|"
    r"acc(?:è|e)s|acesso|accesso|puerta|port[ae]|portail|portone|coffre|cofre|cassaforte|caja fuerte|edificio|immeuble|"
    r"pr(?:é|e)dio|palazzo|secret"
)
_CODES = r"code|combination|c(?:ó|o)digo|codice|combinazione|combinaci(?:ó|o)n|combinaison"
_PINS = (
    rf"geheimzahl|passcode|digicode|\b(?:{_PLACES})[a-z]*?(?: [a-z]+){{0,3}}[ -]?(?:{_CODES})|"
    rf"(?:{_CODES})(?: [^\s,:=.]{{1,16}}){{0,2}}?[ '](?:{_PLACES})[a-z]*|(?:backup|recovery) (?:code|key)s?"
)
_ARE = r"is|was|are|to|ist|lautet|auf|es|est|c'est|est le|é|è|with|mit|con|avec|com"
_DIGITS = (
    r"[#*]?[0-9]{4,10}[#*]?|[0-9]{1,2}-[0-9]{1,2}-[0-9]{1,2}|[0-9]{1,3}[A-Z][0-9]{2,4}|"
    r"[A-Z0-9]{4,6}(?:-[A-Z0-9]{4,6}){1,7}"
)
_CODE = rf"""["]?({_DIGITS})(?:[^0-9A-Za-z]|$)"""
SPOKEN_CODE = rf"""(?i)({_PINS})(?:{_BETWEEN}[ ,]*(?:{_ARE})[ :]*|{_BETWEEN} *[:=-]+ *|[ ,]*){_CODE}"""
# With what follows the name, since "shopping" holds it as well.
SPOKEN_PIN = (
    rf"(?i)\b(pin)[ :=-](?:(?:{_PART}[ ,]+){{0,7}}?(?:{_ARE})[ :]+|"
    rf"(?:{_PART}[ ,]+){{0,6}}?{_PART} *[:=-]+ *|(?:code|number|nummer)? *[:=-]* *){_CODE}"
)
SPOKEN_CODE_FAR_EAST = (
    r"(PIN码|PIN碼|PINコード|PIN番号|PINは|门禁码|暗証番号|解錠コード|解除番号|解除コード)"
    rf"""(?:是|为|為|は|を|[ :="])*{_CODE}"""
)
# One pattern a name: what names of one script begin with alike would be half a letter.
SPOKEN_PINS_RUSSIAN = tuple(
    rf"({name})(?:{_BETWEEN} *[:=-]+ *|{_BETWEEN}[ ,]+){_CODE}" for name in ("ин-?код", "ПИН", "омофон", "сейф")
)

LOGIN_PAIR = (
    r"(?i)(?:\blog ?in|credential|creds|credenziali|\bacces[so]|\bacesso|\baccesso|connexion|anmeldung|zugang|账号|"
    rf"""帐号|アカウント|ログイン)[^\r\n/]{{0,40}}?[ :][a-z0-9_.@+-]+(?: ?/ ?|:)["]?({_WORD}{{6,}})"""
)
OTP_ADDRESS = r"(?i)otpauth://[a-z]+/[^\s?]*\?(?:[^\s&]*&)*?secret=([a-z2-7]{8,}=*)"
OTP_SEED = (
    r"\b(?i:totp|otp|2fa|mfa|authenticator)\b[^\r\n:.]{0,40}?(?::|\bis) *((?:[A-Z2-7]{4}[ -]?){3,}[A-Z2-7]{2,8}=*)"
)
_HASH = r"[./A-Za-z0-9$=,+-]"
CRYPT_HASH = rf"\$(?:1|5|6|7|y|gy|P|H|2a|2b|2x|2y)\${_HASH}{{20,}}"
PASSWORD_HASH = (
    rf"\$(?:apr1|argon2id|argon2i|argon2d|scrypt|sha1|pbkdf2[a-z0-9-]*)\${_HASH}{{20,}}|"
    rf"\b(?:pbkdf2_sha1|pbkdf2_sha256|pbkdf2_sha512|argon2|bcrypt_sha256|scrypt)\${_HASH}{{30,}}|"
    r"\{(?:SHA|SSHA)(?:256|512)?\}[A-Za-z0-9+/]{27,}={0,2}"
)
