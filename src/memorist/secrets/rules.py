"""What a secret looks like: one line a format, specific ones first, since where two fit the first one names it.

A pattern is RE2's, over bytes, so that it takes linear time. Its last group is the secret, save for a quotation mark
that opens it; without groups all of it is. Of two groups the first is the secret's name. A check has the last word: it
is given the match and says whether this is a secret indeed.
"""

from collections.abc import Callable
from typing import NamedTuple

from memorist.secrets.checks import (
    Found,
    is_authorization,
    is_basic_credential,
    is_card,
    is_cookie,
    is_no_placeholder,
    is_no_word,
    is_secret_value,
    is_spoken_password,
)


class Rule(NamedTuple):
    name: str
    pattern: str
    check: Callable[[Found], bool] | None = None


SECRET_NAMES = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|token|credentials?|auth|(?:secret|password)[_-]?(?:value|text)|"
    r"(?:api|access|auth|account|app|secret|private|encryption|signing|master|service|subscription|license|shared|admin|"
    r"webhook|hmac|storage|client|root)[_-]?(?:secret[_-]?)?key"
)
_QUOTES = r"""\\*["'`]?"""
_LITERAL = r"""\\+"[^"\r\n\\]+|\\+'[^'\r\n\\]+|"(?:[^"\r\n\\]|\\.)+|'(?:[^'\r\n\\]|\\.)+|`[^`\r\n]+"""
_VALUE = rf"""({_LITERAL}|[^\s"'`\\<>{{}}()\[\],;|&]+)"""
_WORD = rf"""({_LITERAL}|[^\s"'`\\<>{{}}()\[\],;]+)"""
_LINE = (
    rf"(?im)^[ \t]*(?:(?:-|export|set|env)[ \t]+)?([a-z0-9_.-]*(?:{SECRET_NAMES}))"
    r"""[ \t]*[:=][ \t]*([^\s"'`#]+)[ \t]*\r?$"""
)
_ASSIGNMENT = rf"(?i)([a-z0-9_.-]*(?:{SECRET_NAMES})){_QUOTES}[ \t]*(?:=>|:=|={{1,3}}|:)[ \t]*[bfru]?{_VALUE}"
_FLAG = rf"(?i)(?:^|\s)(--?(?:[a-z-]*-)?(?:{SECRET_NAMES}))[ =]+{_VALUE}"
_SPOKEN = (
    r"(?i)\b(pass(?:word|phrase|code)|api key|secret|token)(?:[ ,]+[a-z]+){0,5}?[ ,]+(?:is|was|to|be|as)[: ]+"
    rf"{_WORD}"
)
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
    Rule("memorist-key", r"\bmst_live_[A-Za-z0-9]{32,}"),
    # Clouds
    Rule("aws-access-key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    Rule("aws-secret-key", r"""\b(?:AKIA|ASIA)[A-Z0-9]{16}["',:;|\s]+([A-Za-z0-9+/]{40})\b"""),
    Rule("aws-bedrock-key", r"\b(?:ABSK[A-Za-z0-9+/]{100,}|bedrock-api-key-[A-Za-z0-9+/]{40,})={0,2}"),
    Rule("google-api-key", r"\bAIza[A-Za-z0-9_-]{35,}"),
    Rule("google-oauth-secret", r"\bGOCSPX-[A-Za-z0-9_-]{24,}"),
    Rule("google-oauth-token", r"\bya29\.[A-Za-z0-9_-]{20,}"),
    Rule("google-refresh-token", r"\b1//0[A-Za-z0-9_-]{40,}"),
    Rule("azure-storage-key", r"(?i)\b(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})"),
    Rule("azure-sas-signature", r"[?&;]sig=([A-Za-z0-9%+/]{40,}={0,2})"),
    Rule("azure-client-secret", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,}"),
    Rule("azure-openai-key", r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}\b"),
    Rule("azure-devops-token", r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}\b"),
    Rule("alibaba-access-key", r"\bLTAI[A-Za-z0-9]{16,}"),
    Rule("tencent-secret-id", r"\bAKID[A-Za-z0-9]{32,}"),
    Rule("yandex-api-key", r"\bAQVN[A-Za-z0-9_-]{35,}"),
    Rule("digitalocean-token", r"\bdo[opr]_v1_[a-f0-9]{64}"),
    Rule("heroku-token", r"\bHRKU-[A-Za-z0-9_-]{36,}"),
    Rule("fly-token", r"\bfm[12][ar]?_[A-Za-z0-9+/=_-]{80,}"),
    Rule("vercel-token", r"\b(?:vc[paikr]_[A-Za-z0-9]{24,}|vercel_blob_rw_[A-Za-z0-9_]{30,})"),
    Rule("netlify-token", r"\bnf[pcob]_[A-Za-z0-9]{36,}"),
    Rule("render-key", r"\brnd_[A-Za-z0-9]{24,}"),
    Rule("cloudflare-token", r"\b(?:cf(?:ut|at|k)_[A-Za-z0-9]{40,}|v1\.0-[a-f0-9]{24}-[a-f0-9]{146})"),
    Rule("supabase-key", r"\bsbp_(?:v0_)?[a-f0-9]{40}"),
    Rule("supabase-key", r"\bsb_secret_[A-Za-z0-9_-]{20,}"),
    Rule("neon-key", r"\bnapi_[a-z0-9]{50,}"),
    Rule("planetscale-token", r"\bpscale_(?:tkn|oauth|pw)_[A-Za-z0-9_.=-]{32,}"),
    Rule("mongodb-atlas-secret", r"\bmdb_sa_sk_[A-Za-z0-9_-]{30,}"),
    Rule("aiven-password", r"\bAVNS_[A-Za-z0-9_-]{15,}"),
    Rule("databricks-token", r"\bdapi[a-f0-9]{32}(?:-[0-9])?\b"),
    Rule("terraform-cloud-token", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}"),
    Rule("vault-token", r"\bhv[sbr]\.[A-Za-z0-9_-]{24,}"),
    Rule("pulumi-token", r"\bpul-[a-f0-9]{40}\b"),
    Rule("doppler-token", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    Rule("onepassword-token", r"\bops_eyJ[A-Za-z0-9+/_-]{80,}={0,3}"),
    Rule("age-secret-key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b"),
    Rule("tailscale-key", r"\btskey-[a-z]+-[A-Za-z0-9]{8,}(?:-[A-Za-z0-9]{8,})?"),
    # Code and packages
    Rule("github-token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{36,})"),
    Rule("gitlab-token", r"\bgl(?:pat|ptt|dt|rt|rtr|cbt|imt|ft|soat|agent|oas|ffct)-[A-Za-z0-9_.=-]{20,}"),
    Rule("atlassian-token", r"\bAT(?:ATT3|CTT3|BB)[A-Za-z0-9_=-]{24,}"),
    Rule("npm-token", r"\bnpm_[A-Za-z0-9]{36,}"),
    Rule("pypi-token", r"\bpypi-[A-Za-z0-9_-]{70,}"),
    Rule("rubygems-key", r"\brubygems_[a-f0-9]{48}\b"),
    Rule("crates-token", r"\bcio[A-Za-z0-9]{32}\b", is_no_word),
    Rule("nuget-key", r"\boy2[a-z0-9]{43}\b"),
    Rule("docker-token", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}"),
    Rule("clojars-token", r"\bCLOJARS_[a-z0-9]{60}\b"),
    Rule("jfrog-key", r"\b(?:AKCp[A-Za-z0-9]{64,}|cmVmdGtu[A-Za-z0-9]{56})"),
    Rule("circleci-token", r"\bCCIPAT_[A-Za-z0-9]{20,}_[a-f0-9]{40}\b"),
    Rule("buildkite-token", r"\bbk(?:ua|pat|aj|ct)_[a-f0-9]{40}\b"),
    Rule("sonarqube-token", r"\bsq[apu]_[a-f0-9]{40}\b"),
    Rule("sourcegraph-token", r"\bsgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}\b"),
    Rule("postman-key", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    Rule("cursor-key", r"\bcrsr_[a-f0-9]{64}\b"),
    # Models and their tools
    Rule("anthropic-key", r"\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{20,}"),
    Rule("openrouter-key", r"\bsk-or-v1-[A-Za-z0-9]{40,}"),
    Rule("langfuse-key", rf"\bsk-lf-{_UUID}\b"),
    Rule("openai-key", r"\bsk-[A-Za-z0-9_-]{20,}", is_no_word),
    Rule("huggingface-token", r"\b(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    Rule("groq-key", r"\bgsk_[A-Za-z0-9]{40,}"),
    Rule("xai-key", r"\bxai-[A-Za-z0-9]{60,}"),
    Rule("perplexity-key", r"\bpplx-[A-Za-z0-9]{40,}"),
    Rule("replicate-token", r"\br8_[A-Za-z0-9]{36,}"),
    Rule("fireworks-key", r"\bfw_[A-Za-z0-9]{22,}", is_no_word),
    Rule("cerebras-key", r"\bcsk-[a-z0-9]{40,}"),
    Rule("nvidia-key", r"\bnvapi-[A-Za-z0-9_-]{50,}"),
    Rule("elevenlabs-key", r"\bsk_[a-f0-9]{48}\b"),
    Rule("jina-key", r"\bjina_[A-Za-z0-9_-]{50,}"),
    Rule("voyage-key", r"\bpa-[A-Za-z0-9_-]{43}\b", is_no_word),
    Rule("pinecone-key", r"\bpcsk_[A-Za-z0-9]{5,8}_[A-Za-z0-9]{40,}"),
    Rule("langsmith-key", r"\blsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}\b"),
    Rule("wandb-key", r"\bwandb_v1_[A-Za-z0-9_]{40,}"),
    Rule("tavily-key", r"\btvly-(?:dev-|prod-)?[A-Za-z0-9]{20,}"),
    Rule("firecrawl-key", r"\bfc-[a-f0-9]{32}\b"),
    Rule("e2b-key", r"\be2b_[a-f0-9]{40}\b"),
    Rule("apify-token", r"\bapify_api_[A-Za-z0-9]{30,}"),
    # Messages and mail
    Rule("slack-token", r"\bxox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{20,}"),
    Rule("slack-token", r"\bxapp-[0-9]-[A-Z0-9]+-[0-9]+-[a-f0-9]{20,}"),
    Rule("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_+-]{20,})"),
    Rule("discord-token", r"\b[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}", is_no_word),
    Rule("discord-webhook", r"discord(?:app)?\.com/api/(?:v[0-9]+/)?webhooks/[0-9]+/([A-Za-z0-9_-]{50,})"),
    Rule("teams-webhook", r"\.webhook\.office\.com/webhookb2/([A-Za-z0-9@/-]{60,})"),
    Rule("telegram-token", r"\b[0-9]{8,10}:A[A-Za-z0-9_-]{34}\b"),
    Rule("twilio-key", r"\bSK[0-9a-f]{32}\b"),
    Rule("sendgrid-key", r"\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Rule("mailgun-key", r"\bkey-[0-9a-f]{32}\b"),
    Rule("mailgun-key", r"\b[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}\b"),
    Rule("mailchimp-key", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    Rule("brevo-key", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}\b"),
    Rule("resend-key", r"\bre_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", is_no_word),
    Rule("facebook-token", r"\bEAA[A-Z][A-Za-z0-9]{80,}"),
    Rule("instagram-token", r"\bIGQ[A-Za-z0-9_-]{80,}"),
    Rule("twitter-bearer", r"\bA{18,}[A-Za-z0-9%]{50,}"),
    # Money and shops
    Rule("stripe-key", r"\b[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    Rule("webhook-secret", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    Rule("square-token", r"\b(?:EAAA[A-Za-z0-9_-]{60}|sq0[a-z]{3}-[A-Za-z0-9_-]{22,})"),
    Rule("braintree-token", r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[a-f0-9]{32}"),
    Rule("plaid-token", rf"\baccess-(?:sandbox|development|production)-{_UUID}\b"),
    Rule("razorpay-key", r"\brzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    Rule("flutterwave-key", r"\bFLWSECK(?:_TEST)?-[A-Za-z0-9]{12,}(?:-X)?"),
    Rule("shopify-token", r"\bshp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}\b"),
    Rule("shippo-token", r"\bshippo_(?:live|test)_[a-f0-9]{40}\b"),
    Rule("easypost-key", r"\bEZ[AT]K[A-Za-z0-9]{54}\b"),
    Rule("duffel-token", r"\bduffel_(?:live|test)_[A-Za-z0-9_=-]{40,}"),
    # Watching and planning
    Rule("sentry-token", r"\bsntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    Rule("newrelic-key", r"\bNR(?:AK|II|JS|RA|AL|SP)-[A-Za-z0-9_-]{20,}"),
    Rule("grafana-token", r"\bglc_[A-Za-z0-9+/]{32,}={0,2}"),
    Rule("grafana-token", r"\bglsa_[A-Za-z0-9]{32}_[a-f0-9]{8}\b"),
    Rule("dynatrace-token", r"\bdt0[a-z][0-9]{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}\b"),
    Rule("honeycomb-key", r"\bhc[a-z]{1,2}i[ck]_[a-z0-9]{50,}"),
    Rule("posthog-key", r"\bphx_[A-Za-z0-9]{40,}"),
    Rule("logfire-token", r"\bpylf_v[0-9]_[a-z]{2}_[A-Za-z0-9]{40,}"),
    Rule("linear-key", r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    Rule("notion-token", r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}\b)"),
    Rule("airtable-token", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    Rule("figma-token", r"\bfig[dou][rh]?_[A-Za-z0-9_-]{40,}"),
    Rule("hubspot-token", rf"\bpat-(?:na|eu|ap)[0-9]-{_UUID}\b"),
    Rule("typeform-token", r"\btfp_[A-Za-z0-9_.=-]{40,}"),
    Rule("contentful-token", r"\bCFPAT-[A-Za-z0-9_-]{40,}"),
    Rule("salesforce-token", r"\b00D[A-Za-z0-9]{12,15}![A-Za-z0-9._]{80,}"),
    Rule("launchdarkly-key", rf"\b(?:sdk|api|mob)-{_UUID}\b"),
    Rule("prefect-key", r"\bpn[bu]_[A-Za-z0-9]{36}\b"),
    Rule("mapbox-secret", r"\bsk\.eyJ[A-Za-z0-9_-]{40,}\.[A-Za-z0-9_-]{20,}"),
    Rule("dropbox-token", r"\bsl\.(?:u\.)?[A-Za-z0-9_-]{120,}"),
    Rule("adobe-secret", r"\bp8e-[A-Za-z0-9_-]{32,}"),
)  # fmt: skip

# Shapes that many use.
SHAPES = (
    Rule("private-key", rf"-----BEGIN {_KEY_BLOCK}-----[A-Za-z0-9+/=\s\\:,.()-]*?-----END {_KEY_BLOCK}-----"),
    Rule("private-key", rf"-----BEGIN {_KEY_BLOCK}-----(?:[A-Za-z0-9+/=\s:,]|\\[nrt])+"),
    Rule("putty-key", r"Private-Lines: [0-9]+((?:(?:\s|\\[nr])+[A-Za-z0-9+/=]{20,})+)"),
    Rule("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*){1,3}"),
    Rule("connection-password", r"""\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s:/?#@"'<>]*:([^\s/"'<>\\]+)@""", is_no_placeholder),
    Rule("authorization", _HEADER, is_authorization),
    Rule("bearer-token", r"(?i)\bbearer\s+([a-z0-9._~+/=-]{20,})", is_no_word),
    Rule("basic-credential", r"(?i)\bbasic\s+([a-z0-9+/]{8,}={0,2})", is_basic_credential),
    Rule("curl-password", _CURL, is_no_placeholder),
    Rule("netrc-password", r"(?i)\blogin\s+\S+\s+password\s+([^\s\"'\\]+)", is_no_placeholder),
    Rule("cookie", r"""(?i)\b(?:set-)?cookie["']?:\s*["']?([^\r\n"'\\]{16,})""", is_cookie),
    Rule("card-number", _CARD, is_card),
    Rule("xml-secret", _ELEMENT, is_secret_value),
    Rule("secret-flag", _FLAG, is_secret_value),
    Rule("secret-assignment", _LINE, is_secret_value),
    Rule("secret-assignment", _ASSIGNMENT, is_secret_value),
    Rule("spoken-password", _SPOKEN, is_spoken_password),
)  # fmt: skip

RULES = (*PROVIDERS, *SHAPES)
NAMES = frozenset(rule.name for rule in RULES)
