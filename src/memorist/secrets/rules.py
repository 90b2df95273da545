"""What a secret looks like: one line a format, specific ones first, since where two fit the first one names it.

A pattern is RE2's, over bytes, so that it takes linear time. Its last group is the secret, save for a quotation mark
that opens it; without groups all of it is. Of two groups the first is the secret's name. A check has the last word: it
is given the match and says whether this is a secret indeed.
"""

from collections.abc import Callable
from typing import NamedTuple

from memorist.secrets.checks import (
    SecretMatch,
    is_authorization,
    is_basic_credential,
    is_card,
    is_cookie,
    is_no_placeholder,
    is_no_word,
    is_password_said_in_chinese_or_japanese,
    is_secret_value,
    is_spoken_password,
    is_spoken_pin,
    is_strong_password,
)
from memorist.secrets.spoken import (
    CRYPT_HASH,
    LOGIN_PAIR,
    OTP_ADDRESS,
    OTP_SEED,
    PASSWORD_HASH,
    PASSWORD_LAST,
    SPOKEN_CODE,
    SPOKEN_CODE_FAR_EAST,
    SPOKEN_PASSWORD,
    SPOKEN_PASSWORD_FAR_EAST,
    SPOKEN_PASSWORD_RUSSIAN,
    SPOKEN_PIN,
    SPOKEN_PINS_RUSSIAN,
    SPOKEN_PW,
)


class SecretRule(NamedTuple):
    name: str
    pattern: str
    check: Callable[[SecretMatch], bool] | None = None


SECRET_NAMES = (
    r"pass(?:wor[dt]|wd|phrase|code)|kennwort|contrase(?:ñ|n)a|senha|mot[_ -]?de[_ -]?passe|ароль|"
    r"密码|密碼|パスワード|pwd|secret|token|credentials?|auth|(?:secret|password)[_-]?(?:value|text)|"
    r"(?:api|access|auth|account|app|secret|private|encryption|signing|master|service|subscription|license|shared|admin|"
    r"webhook|hmac|storage|client|root)[_-]?(?:secret[_-]?)?key"
)
_QUOTES = r"""\\*["'`]?"""
_LITERAL = r"""\\+"[^"\r\n\\]+|\\+'[^'\r\n\\]+|"(?:[^"\r\n\\]|\\.)+|'(?:[^'\r\n\\]|\\.)+|`[^`\r\n]+"""
_VALUE = rf"""({_LITERAL}|[^\s"'`\\<>{{}}()\[\],;|&]+)"""
_LINE = (
    rf"(?im)^[ \t]*(?:(?:-|export|set|env)[ \t]+)?([a-z0-9_.-]*(?:{SECRET_NAMES}))"
    r"""[ \t]*[:=][ \t]*([^\s"'`#]+)[ \t]*\r?$"""
)
_ASSIGNMENT = rf"(?i)([a-z0-9_.-]*(?:{SECRET_NAMES})){_QUOTES}[ \t]*(?:=>|:=|={{1,3}}|:)[ \t]*[bfru]?{_VALUE}"
_FLAG = rf"(?i)(?:^|\s)(--?(?:[a-z-]*-)?(?:{SECRET_NAMES}))[ =]+{_VALUE}"
_HEADER = (
    r"""(?i)\bauthorization["'\\]*\s*[:=]\s*["'\\]*"""
    r"""(?:(?:bearer|token|basic|apikey|bot|key)\s+)?([^\s"'\\<>{},;]{8,})"""
)
_CURL = r"""(?i)\bcurl\b[^\r\n|;]*\s(?:-u|--user)[ =]*["']?[^\s:"']+:([^\s"'\\]+)"""
_CARD = r"\b[2-6][0-9]{3}[ -]?(?:[0-9]{4}[ -]?[0-9]{4}[ -]?[0-9]{4}|[0-9]{6}[ -]?[0-9]{4,5})\b"
_ELEMENT = r"(?i)<([a-z0-9_.-]*(?:password|passwd|secret|api-?_?key|token))>([^<\s]{6,})</"

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_KEY_BLOCK = r"(?:[A-Z0-9 ]+ )?PRIVATE KEY(?: BLOCK)?"

# Formats that a provider made recognisable.
PROVIDERS = (
    SecretRule("memorist-key", r"\bmst_(?:live|user)_[A-Za-z0-9]{32,}"),
    # Clouds
    SecretRule("aws-access-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    SecretRule("aws-secret-key", r"""\b(?:AKIA|ASIA)[A-Z0-9]{16}["',:;|\s]+([A-Za-z0-9+/]{40})\b"""),
    SecretRule("aws-bedrock-key", r"\b(?:ABSK[A-Za-z0-9+/]{100,}|bedrock-api-key-[A-Za-z0-9+/]{40,})={0,2}"),
    SecretRule("google-api-key", r"\bAIza[A-Za-z0-9_-]{35,}"),
    SecretRule("google-oauth-secret", r"\bGOCSPX-[A-Za-z0-9_-]{24,}"),
    SecretRule("google-oauth-token", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    SecretRule("google-refresh-token", r"\b1//0[A-Za-z0-9_-]{40,}"),
    SecretRule("azure-storage-key", r"(?i)\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})"),
    SecretRule("azure-sas-signature", r"[?&;]sig=([A-Za-z0-9%+/]{40,}={0,2})"),
    SecretRule("azure-client-secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}"),
    SecretRule("azure-openai-key", r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}\b"),
    SecretRule("azure-devops-token", r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b"),
    SecretRule("alibaba-access-key", r"\bLTAI[A-Za-z0-9]{16,}"),
    SecretRule("tencent-secret-id", r"\bAKID[A-Za-z0-9]{32,}"),
    SecretRule("yandex-api-key", r"\bAQVN[A-Za-z0-9_-]{35,}"),
    SecretRule("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    SecretRule("heroku-token", r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    SecretRule("fly-token", r"\bfm[12][ar]?_[A-Za-z0-9+/=_-]{80,}"),
    SecretRule("vercel-token", r"\b(?:vc[paikr]_[A-Za-z0-9]{24,}|vercel_blob_rw_[A-Za-z0-9_]{30,})"),
    SecretRule("netlify-token", r"\bnf[pcob]_[A-Za-z0-9]{36,}"),
    SecretRule("render-key", r"\brnd_[A-Za-z0-9]{24,}"),
    SecretRule("cloudflare-token", r"\b(?:cf(?:ut|at|k)_[A-Za-z0-9]{40,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{146})"),
    SecretRule("supabase-key", r"\bsbp_(?:v0_)?[a-f0-9]{40}"),
    SecretRule("supabase-key", r"\bsb_secret_[A-Za-z0-9_-]{20,}"),
    SecretRule("neon-key", r"\bnapi_[a-z0-9]{50,}"),
    SecretRule("planetscale-token", r"\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}"),
    SecretRule("mongodb-atlas-secret", r"\bmdb_sa_sk_[A-Za-z0-9_-]{30,}"),
    SecretRule("aiven-password", r"\bAVNS_[A-Za-z0-9_-]{15,}"),
    SecretRule("databricks-token", r"\bdapi[a-f0-9]{32}(?:-[0-9])?\b"),
    SecretRule("terraform-cloud-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    SecretRule("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    SecretRule("pulumi-token", r"\bpul-[a-f0-9]{40}\b"),
    SecretRule("doppler-token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    SecretRule("onepassword-token", r"\bops_eyJ[A-Za-z0-9+/_-]{80,}={0,3}"),
    SecretRule("age-secret-key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    SecretRule("tailscale-key", r"\btskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{8,})?"),
    # Code and packages
    SecretRule("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,})"),
    SecretRule("gitlab-token", r"\bgl(?:pat|ptt|dt|rt|rtr|cbt|imt|ft|soat|agent|oas|ffct)-[A-Za-z0-9_.=-]{20,}"),
    SecretRule("atlassian-token", r"\bAT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{24,}"),
    SecretRule("npm-token", r"\bnpm_[A-Za-z0-9]{36,}"),
    SecretRule("pypi-token", r"\bpypi-[A-Za-z0-9_-]{70,}"),
    SecretRule("rubygems-key", r"\brubygems_[a-f0-9]{48}\b"),
    SecretRule("crates-token", r"\bcio[A-Za-z0-9]{32}\b", is_no_word),
    SecretRule("nuget-key", r"\boy2[a-z0-9]{43}\b"),
    SecretRule("docker-token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
    SecretRule("clojars-token", r"\bCLOJARS_[a-z0-9]{60}\b"),
    SecretRule("jfrog-key", r"\b(?:AKCp[A-Za-z0-9]{64,}|cmVmdGtu[A-Za-z0-9]{56})"),
    SecretRule("circleci-token", r"\bCCIPAT_[A-Za-z0-9]{20,}_[a-f0-9]{40}\b"),
    SecretRule("buildkite-token", r"\bbk(?:ua|pat|aj|ct)_[a-f0-9]{40}\b"),
    SecretRule("sonarqube-token", r"\bsq[apu]_[a-f0-9]{40}\b"),
    SecretRule("sourcegraph-token", r"\bsgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}\b"),
    SecretRule("postman-key", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    SecretRule("cursor-key", r"\bcrsr_[a-f0-9]{64}\b"),
    # Models and their tools
    SecretRule("anthropic-key", r"\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{20,}"),
    SecretRule("openrouter-key", r"\bsk-or-v1-[A-Za-z0-9]{40,}"),
    SecretRule("langfuse-key", rf"\bsk-lf-{_UUID}\b"),
    SecretRule("openai-key", r"\bsk-[A-Za-z0-9_-]{20,}", is_no_word),
    SecretRule("huggingface-token", r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    SecretRule("groq-key", r"\bgsk_[A-Za-z0-9]{40,}"),
    SecretRule("xai-key", r"\bxai-[A-Za-z0-9]{60,}"),
    SecretRule("perplexity-key", r"\bpplx-[A-Za-z0-9]{40,}"),
    SecretRule("replicate-token", r"\br8_[A-Za-z0-9]{36,}"),
    SecretRule("fireworks-key", r"\bfw_[A-Za-z0-9]{22,}", is_no_word),
    SecretRule("cerebras-key", r"\bcsk-[a-z0-9]{40,}"),
    SecretRule("nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{50,}"),
    SecretRule("elevenlabs-key", r"\bsk_[a-f0-9]{48}\b"),
    SecretRule("jina-key", r"\bjina_[A-Za-z0-9_-]{50,}"),
    SecretRule("voyage-key", r"\bpa-[A-Za-z0-9_-]{43}\b", is_no_word),
    SecretRule("pinecone-key", r"\bpcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{40,}"),
    SecretRule("langsmith-key", r"\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b"),
    SecretRule("wandb-key", r"\bwandb_v1_[A-Za-z0-9_]{40,}"),
    SecretRule("tavily-key", r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    SecretRule("firecrawl-key", r"\bfc-[a-f0-9]{32}\b"),
    SecretRule("e2b-key", r"\be2b_[a-f0-9]{40}\b"),
    SecretRule("apify-token", r"\bapify_api_[A-Za-z0-9]{30,}"),
    # Messages and mail
    SecretRule("slack-token", r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{20,}"),
    SecretRule("slack-token", r"\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{20,}"),
    SecretRule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,})"),
    SecretRule("discord-token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", is_no_word),
    SecretRule("discord-webhook", r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/([A-Za-z0-9_-]{50,})"),
    SecretRule("teams-webhook", r"\.webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,})"),
    SecretRule("telegram-token", r"\b[0-9]{8,10}:A[A-Za-z0-9_-]{34}\b"),
    SecretRule("twilio-key", r"\bSK[0-9a-f]{32}\b"),
    SecretRule("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    SecretRule("mailgun-key", r"\bkey-[0-9a-f]{32}\b"),
    SecretRule("mailgun-key", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    SecretRule("mailchimp-key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    SecretRule("brevo-key", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    SecretRule("resend-key", r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", is_no_word),
    SecretRule("facebook-token", r"\bEAA[A-Z][A-Za-z0-9]{80,}"),
    SecretRule("instagram-token", r"\bIGQ[A-Za-z0-9_-]{80,}"),
    SecretRule("twitter-bearer", r"\bA{18,}[A-Za-z0-9%]{50,}"),
    # Money and shops
    SecretRule("stripe-key", r"\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    SecretRule("webhook-secret", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    SecretRule("square-token", r"\b(?:EAAA[A-Za-z0-9_-]{60}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,})"),
    SecretRule("braintree-token", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    SecretRule("plaid-token", rf"\baccess-(?:sandbox|development|production)-{_UUID}\b"),
    SecretRule("razorpay-key", r"\brzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    SecretRule("flutterwave-key", r"\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    SecretRule("shopify-token", r"\bshp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}\b"),
    SecretRule("shippo-token", r"\bshippo_(?:live|test)_[a-f0-9]{40}\b"),
    SecretRule("easypost-key", r"\bEZ[AT]K[A-Za-z0-9]{54}\b"),
    SecretRule("duffel-token", r"\bduffel_(?:live|test)_[A-Za-z0-9_=-]{40,}"),
    # Watching and planning
    SecretRule("sentry-token", r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    SecretRule("newrelic-key", r"\bNR(?:AK|II|JS|RA|AL|SP)-[A-Za-z0-9_-]{20,}"),
    SecretRule("grafana-token", r"\bglc_[A-Za-z0-9+/]{32,}={0,2}"),
    SecretRule("grafana-token", r"\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b"),
    SecretRule("dynatrace-token", r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    SecretRule("honeycomb-key", r"\bhc[a-z]{1,2}i[ck]_[a-z0-9]{50,}"),
    SecretRule("posthog-key", r"\bphx_[A-Za-z0-9]{40,}"),
    SecretRule("logfire-token", r"\bpylf_v[0-9]_[a-z]{2}_[A-Za-z0-9]{40,}"),
    SecretRule("linear-key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    SecretRule("notion-token", r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)"),
    SecretRule("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    SecretRule("figma-token", r"\bfig[dou][rh]?_[A-Za-z0-9_-]{40,}"),
    SecretRule("hubspot-token", rf"\bpat-(?:na|eu|ap)[0-9]-{_UUID}\b"),
    SecretRule("typeform-token", r"\btfp_[A-Za-z0-9_.=-]{40,}"),
    SecretRule("contentful-token", r"\bCFPAT-[A-Za-z0-9_-]{40,}"),
    SecretRule("salesforce-token", r"\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,}"),
    SecretRule("launchdarkly-key", rf"\b(?:sdk|api|mob)-{_UUID}\b"),
    SecretRule("prefect-key", r"\bpn[bu]_[A-Za-z0-9]{36}\b"),
    SecretRule("mapbox-secret", r"\bsk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}"),
    SecretRule("dropbox-token", r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{120,}"),
    SecretRule("adobe-secret", r"\bp8e-[A-Za-z0-9_-]{32,}"),
)  # fmt: skip

# Shapes that many use.
SHAPES = (
    SecretRule("private-key", rf"-----BEGIN {_KEY_BLOCK}-----[A-Za-z0-9+/=\s\\:,.()-]*?-----END {_KEY_BLOCK}-----"),
    SecretRule("private-key", rf"-----BEGIN {_KEY_BLOCK}-----(?:[A-Za-z0-9+/=\s:,]|\\[nrt])+"),
    SecretRule("putty-key", r"Private-Lines: [0-9]+((?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{20,})+)"),
    SecretRule("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    SecretRule(
        "connection-password", r"""\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/?#@"'<>]*:([^\s/"'<>\\]+)@""", is_no_placeholder
    ),
    SecretRule("authorization", _HEADER, is_authorization),
    SecretRule("bearer-token", r"(?i)\bbearer\s+([a-z0-9._~+/=-]{20,})", is_no_word),
    SecretRule("basic-credential", r"(?i)\bbasic\s+([a-z0-9+/]{8,}={0,2})", is_basic_credential),
    SecretRule("curl-password", _CURL, is_no_placeholder),
    SecretRule("netrc-password", r"(?i)\blogin\s+\S+\s+password\s+([^\s\"'\\]+)", is_no_placeholder),
    SecretRule("cookie", r"""(?i)\b(?:set-)?cookie["']?:\s*["']?([^\r\n"'\\]{16,})""", is_cookie),
    SecretRule("card-number", _CARD, is_card),
    SecretRule("xml-secret", _ELEMENT, is_secret_value),
    SecretRule("secret-flag", _FLAG, is_secret_value),
    SecretRule("secret-assignment", _LINE, is_secret_value),
    SecretRule("secret-assignment", _ASSIGNMENT, is_secret_value),
    SecretRule("otp-seed", OTP_ADDRESS),
    SecretRule("otp-seed", OTP_SEED, is_no_word),
    SecretRule("password-hash", CRYPT_HASH),
    SecretRule("password-hash", PASSWORD_HASH),
    SecretRule("login-pair", LOGIN_PAIR, is_strong_password),
    SecretRule("spoken-password", SPOKEN_PASSWORD, is_spoken_password),
    SecretRule("spoken-password", SPOKEN_PW, is_spoken_password),
    SecretRule("spoken-password", SPOKEN_PASSWORD_FAR_EAST, is_password_said_in_chinese_or_japanese),
    SecretRule("spoken-password", PASSWORD_LAST, is_strong_password),
    SecretRule("spoken-password", SPOKEN_PASSWORD_RUSSIAN, is_spoken_password),
    SecretRule("spoken-pin", SPOKEN_PIN, is_spoken_pin),
    SecretRule("spoken-pin", SPOKEN_CODE, is_spoken_pin),
    SecretRule("spoken-pin", SPOKEN_CODE_FAR_EAST, is_spoken_pin),
    *(SecretRule("spoken-pin", pattern, is_spoken_pin) for pattern in SPOKEN_PINS_RUSSIAN),
)  # fmt: skip

RULES = (*PROVIDERS, *SHAPES)
NAMES = frozenset(rule.name for rule in RULES)
