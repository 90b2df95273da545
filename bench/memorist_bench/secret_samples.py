"""Invented secrets of every rule's format, as their providers describe them, and some that no rule knows.

A format is written with what is random in braces: `{hex:32}` is 32 hexadecimal digits. So this file holds no secret.
"""

import base64
import re
import string
from collections.abc import Callable
from random import Random

_ALPHABETS = {
    "any": string.ascii_letters + string.digits,
    "url": string.ascii_letters + string.digits + "_-",
    "b64": string.ascii_letters + string.digits + "+/",
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "b32": string.ascii_uppercase + "234567",
    "letters": string.ascii_letters,
    "hex": "0123456789abcdef",
    "dig": string.digits,
    "pw": string.ascii_letters + string.digits + "!@#%^*+=?~",
}
_RANDOM_PART = re.compile(r"\{(\w+):(\d+)\}")
_UUID = "{hex:8}-{hex:4}-4{hex:3}-a{hex:3}-{hex:12}"

PROVIDER_FORMATS: dict[str, tuple[str, ...]] = {
    "memorist-key": ("mst_live_{hex:72}",),
    "aws-access-key": ("AKIA{b32:16}", "ASIA{b32:16}"),
    "aws-secret-key": ("AKIA{b32:16},{any:40}",),
    "aws-bedrock-key": ("ABSK{b64:128}", "bedrock-api-key-{b64:120}"),
    "google-api-key": ("AIza{url:35}",),
    "google-oauth-secret": ("GOCSPX-{url:28}",),
    "google-oauth-token": ("ya29.a0{url:160}",),
    "google-refresh-token": ("1//0{dig:1}{url:60}",),
    "azure-storage-key": ("DefaultEndpointsProtocol=https;AccountName=logs;AccountKey={b64:86}==",),
    "azure-sas-signature": ("https://logs.blob.core.windows.net/c?sv=2024-11-04&sp=r&sig={any:43}%3D",),
    "azure-client-secret": ("{any:3}8Q~{any:34}",),
    "azure-openai-key": ("{any:52}JQQJ99{any:26}",),
    "azure-devops-token": ("{any:76}AZDO{any:4}",),
    "alibaba-access-key": ("LTAI5t{any:18}",),
    "tencent-secret-id": ("AKID{any:32}",),
    "yandex-api-key": ("AQVN{url:36}",),
    "digitalocean-token": ("dop_v1_{hex:64}", "doo_v1_{hex:64}"),
    "heroku-token": ("HRKU-AA{url:58}",),
    "fly-token": ("fm2_{b64:180}",),
    "vercel-token": ("vcp_{any:56}", "vercel_blob_rw_{any:16}_{any:30}"),
    "netlify-token": ("nfp_{any:36}",),
    "render-key": ("rnd_{any:28}",),
    "cloudflare-token": ("cfut_{any:40}", "v1.0-{hex:24}-{hex:146}"),
    "supabase-key": ("sbp_{hex:40}", "sb_secret_{url:31}"),
    "neon-key": ("napi_{low:64}",),
    "planetscale-token": ("pscale_tkn_{url:43}", "pscale_pw_{url:43}"),
    "mongodb-atlas-secret": ("mdb_sa_sk_{url:40}",),
    "aiven-password": ("AVNS_{url:19}",),
    "databricks-token": ("dapi{hex:32}", "dapi{hex:32}-2"),
    "terraform-cloud-token": ("{any:14}.atlasv1.{any:67}",),
    "vault-token": ("hvs.{url:90}", "hvb.{url:130}"),
    "pulumi-token": ("pul-{hex:40}",),
    "doppler-token": ("dp.pt.{any:43}", "dp.st.dev.{any:43}"),
    "onepassword-token": ("ops_eyJ{b64:300}",),
    "age-secret-key": ("AGE-SECRET-KEY-1{up:58}",),
    "tailscale-key": ("tskey-auth-k{any:11}CNTRL-{any:32}",),
    "github-token": ("ghp_{any:36}", "gho_{any:36}", "ghs_{any:36}", "github_pat_11{up:20}_{any:59}"),
    "gitlab-token": ("glpat-{url:20}", "glptt-{hex:40}", "gldt-{url:20}", "glrt-{url:20}"),
    "atlassian-token": ("ATATT3xFfGF0{url:180}={hex:8}", "ATBB{any:32}"),
    "npm-token": ("npm_{any:36}",),
    "pypi-token": ("pypi-AgEIcHlwaS5vcmc{url:150}",),
    "rubygems-key": ("rubygems_{hex:48}",),
    "crates-token": ("cio{any:32}",),
    "nuget-key": ("oy2{low:43}",),
    "docker-token": ("dckr_pat_{url:27}",),
    "clojars-token": ("CLOJARS_{low:60}",),
    "jfrog-key": ("AKCp{any:69}", "cmVmdGtu{any:56}"),
    "circleci-token": ("CCIPAT_{any:22}_{hex:40}",),
    "buildkite-token": ("bkua_{hex:40}",),
    "sonarqube-token": ("sqp_{hex:40}", "squ_{hex:40}"),
    "sourcegraph-token": ("sgp_{hex:16}_{hex:40}",),
    "postman-key": ("PMAK-{hex:24}-{hex:34}",),
    "cursor-key": ("crsr_{hex:64}",),
    "anthropic-key": ("sk-ant-api03-{url:93}AA", "sk-ant-admin01-{url:93}AA", "sk-ant-oat01-{url:93}AA"),
    "openrouter-key": ("sk-or-v1-{hex:64}",),
    "langfuse-key": (f"sk-lf-{_UUID}",),
    "openai-key": ("sk-proj-{url:74}T3BlbkFJ{url:74}", "sk-{any:20}T3BlbkFJ{any:20}", "sk-svcacct-{url:120}"),
    "huggingface-token": ("hf_{letters:34}", "api_org_{letters:34}"),
    "groq-key": ("gsk_{any:52}",),
    "xai-key": ("xai-{any:80}",),
    "perplexity-key": ("pplx-{any:48}",),
    "replicate-token": ("r8_{any:37}",),
    "fireworks-key": ("fw_{any:24}",),
    "cerebras-key": ("csk-{low:48}",),
    "nvidia-key": ("nvapi-{url:64}",),
    "elevenlabs-key": ("sk_{hex:48}",),
    "jina-key": ("jina_{hex:32}{any:28}",),
    "voyage-key": ("pa-{any:43}",),
    "pinecone-key": ("pcsk_{any:6}_{any:60}",),
    "langsmith-key": ("lsv2_pt_{hex:32}_{hex:10}", "lsv2_sk_{hex:32}_{hex:10}"),
    "wandb-key": ("wandb_v1_{any:70}",),
    "tavily-key": ("tvly-{any:32}", "tvly-dev-{any:32}"),
    "firecrawl-key": ("fc-{hex:32}",),
    "e2b-key": ("e2b_{hex:40}",),
    "apify-token": ("apify_api_{any:36}",),
    "slack-token": ("xoxb-{dig:12}-{dig:13}-{any:24}", "xoxp-{dig:12}-{hex:32}", "xapp-1-A{up:10}-{dig:13}-{hex:64}"),
    "slack-webhook": ("https://hooks.slack.com/services/T{up:8}/B{up:10}/{any:24}",),
    "discord-token": ("M{any:23}.G{any:5}.{any:38}",),
    "discord-webhook": ("https://discord.com/api/webhooks/{dig:18}/{url:68}",),
    "teams-webhook": (f"https://acme.webhook.office.com/webhookb2/{_UUID}@{_UUID}/IncomingWebhook/{{hex:32}}/{_UUID}",),
    "telegram-token": ("{dig:10}:AA{any:33}",),
    "twilio-key": ("SK{hex:32}",),
    "sendgrid-key": ("SG.{url:22}.{url:43}",),
    "mailgun-key": ("key-{hex:32}", "{hex:32}-{hex:8}-{hex:8}"),
    "mailchimp-key": ("{hex:32}-us{dig:1}",),
    "brevo-key": ("xkeysib-{hex:64}-{any:16}",),
    "resend-key": ("re_{any:8}_{any:24}",),
    "facebook-token": ("EAAG{any:180}",),
    "instagram-token": ("IGQV{any:140}",),
    "twitter-bearer": ("AAAAAAAAAAAAAAAAAAAAA{any:80}",),
    "stripe-key": ("sk_live_{any:24}", "rk_live_{any:99}", "sk_test_{any:24}"),
    "webhook-secret": ("whsec_{any:32}",),
    "square-token": ("EAAA{url:60}", "sq0csp-{url:43}"),
    "braintree-token": ("access_token$production${low:16}${hex:32}",),
    "plaid-token": (f"access-production-{_UUID}",),
    "razorpay-key": ("rzp_live_{any:14}",),
    "flutterwave-key": ("FLWSECK-{hex:32}-X",),
    "shopify-token": ("shpat_{hex:32}", "shpss_{hex:32}"),
    "shippo-token": ("shippo_live_{hex:40}",),
    "easypost-key": ("EZAK{any:54}",),
    "duffel-token": ("duffel_live_{url:43}",),
    "sentry-token": ("sntrys_{b64:120}", "sntryu_{hex:64}"),
    "newrelic-key": ("NRAK-{up:27}",),
    "grafana-token": ("glsa_{any:32}_{hex:8}", "glc_{b64:120}"),
    "dynatrace-token": ("dt0c01.{up:24}.{up:64}",),
    "honeycomb-key": ("hcaik_{low:58}",),
    "posthog-key": ("phx_{any:43}",),
    "logfire-token": ("pylf_v1_eu_{any:44}",),
    "linear-key": ("lin_api_{any:40}",),
    "notion-token": ("ntn_{dig:11}{any:35}", "secret_{any:43}"),
    "airtable-token": ("pat{any:14}.{hex:64}",),
    "figma-token": ("figd_{url:40}",),
    "hubspot-token": (f"pat-na1-{_UUID}",),
    "typeform-token": ("tfp_{any:44}_{any:14}",),
    "contentful-token": ("CFPAT-{url:43}",),
    "salesforce-token": ("00D{any:12}!AQ{any:90}",),
    "launchdarkly-key": (f"sdk-{_UUID}", f"api-{_UUID}"),
    "prefect-key": ("pnu_{any:36}",),
    "mapbox-secret": ("sk.eyJ1Ijoi{any:60}.{url:22}",),
    "dropbox-token": ("sl.u.{url:140}",),
    "adobe-secret": ("p8e-{url:32}",),
}  # fmt: skip

SHAPE_FORMATS: dict[str, tuple[str, ...]] = {
    "jwt": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{url:60}.{url:43}",),
    "connection-password": (
        "postgresql://app:{any:14}@db.internal:5432/app",
        "mysql://root:{any:10}@10.0.0.7/shop",
        "mongodb+srv://svc:{any:16}@cluster0.example.net/?retryWrites=true",
        "redis://:{any:20}@cache:6379/0",
        "amqp://guest:{any:12}@mq:5672",
        "https://deploy:{any:24}@git.example.org/team/repo.git",
    ),
    "authorization": (
        "Authorization: Bearer {any:32}",
        "Authorization: token {hex:40}",
        "authorization: ApiKey {any:28}",
    ),
    "curl-password": ("curl -s -u admin:{any:14} https://api.example.org/health",),
    "netrc-password": ("machine api.example.org login bob password {any:12}",),
    "cookie": ("Cookie: sessionid={any:32}; theme=dark",),
    "xml-secret": ("<password>{any:12}</password>", "<apiKey>{hex:32}</apiKey>"),
    "secret-flag": ("mytool deploy --token {any:32} --region eu", "mytool login --password={any:12}"),
    "secret-assignment": (
        "password = '{pw:14}'",
        'DB_PASSWORD="{pw:16}"',
        "POSTGRES_PASSWORD={any:14}",
        '"client_secret": "{any:40}"',
        "api_key: {hex:32}",
        "AWS_SECRET_ACCESS_KEY={b64:40}",
        'secret_key = "{b64:50}"',
        "X-Api-Key: {any:32}",
        'const accessToken = "{any:48}";',
        "Server=db;User Id=sa;Password={any:13};Encrypt=true",
        '{{\\"password\\": \\"{any:12}\\"}}',
        "spring.datasource.password={any:15}",
        "encryption_key => '{hex:64}'",
    ),
    "otp-seed": ("otpauth://totp/Acme:ada?secret={b32:32}&issuer=Acme", "the TOTP seed is {b32:32}"),
    "password-hash": (
        "ada:$6${any:16}${any:86}:19700:0:99999:7:::",
        "ada:$apr1${any:8}${any:22}",
        "$2b$12${any:53}",
        "$argon2id$v=19$m=65536,t=3,p=4${any:22}${any:43}",
    ),
    "login-pair": ("login: admin / {any:12}", "creds are root:{any:12}"),
    "spoken-password": ("the password for the router is {any:10}", "ok, my new password is {pw:12}"),
    "spoken-pin": ("my PIN is {dig:6}", "the door code: {dig:8}"),
}  # fmt: skip

# What no rule knows: said here, so that the figure of what is caught is not taken for more than it is.
UNLISTED_FORMATS: dict[str, tuple[str, ...]] = {
    "password without a name": ("try admin / {any:10} there", "{any:12} and then press enter"),
    "passphrase of words": ("password: correct horse battery staple", "my passphrase is velvet otter sunrise kettle"),
    "key without name or prefix": ("here you go: {hex:32}", "{any:40}"),
    "another language": ("parolă: {any:12}", "hasło: {any:12}", "wachtwoord: {any:12}"),
    "file of passwords": ("db.internal:5432:app:svc:{any:14}",),
    "seed phrase": ("legal winner thank year wave sausage worth useful legal winner thank yellow",),
    "short code": ("type {dig:4} on the pad", "the number for the bike is {dig:4}"),
    "cut in two": ("token part one {any:20} and part two {any:20}",),
}


def filled(form: str, random: Random) -> tuple[str, tuple[str, ...]]:
    """The text of a format, and the parts of it that are secret."""
    parts: list[str] = []

    def fill(match: re.Match[str]) -> str:
        parts.append("".join(random.choices(_ALPHABETS[match.group(1)], k=int(match.group(2)))))
        return parts[-1]

    text = _RANDOM_PART.sub(fill, form).replace("{{", "{").replace("}}", "}")
    longest = max(map(len, parts), default=0)
    # Short parts beside a long one are an id's, or the fixed places of a format.
    return text, tuple(part for part in parts if len(part) * 3 >= longest)


def private_key(random: Random) -> tuple[str, tuple[str, ...]]:
    kind = random.choice(("RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""))
    body = base64.b64encode(random.randbytes(random.choice((48, 600, 1200)))).decode()
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    between = random.choice(("\n", "\\n", "\n  "))
    ends = [f"-----{edge} {kind}PRIVATE KEY-----" for edge in ("BEGIN", "END")]
    return between.join([ends[0], *lines, ends[1]]), tuple(lines)


def card_number(random: Random) -> tuple[str, tuple[str, ...]]:
    first, size = random.choice((("4", 16), ("51", 16), ("2221", 16), ("37", 15), ("6011", 16), ("3528", 16)))
    digits = first + "".join(random.choices(string.digits, k=size - len(first) - 1))
    total = sum(sum(divmod(int(digit) * (2 - index % 2), 10)) for index, digit in enumerate(reversed(digits)))
    number = digits + str(-total % 10)
    groups = (number[:4], number[4:10], number[10:]) if size == 15 else [number[at : at + 4] for at in range(0, 16, 4)]
    shown = random.choice(("", " ", "-")).join(groups)
    return shown, (shown,)


def basic_credential(random: Random) -> tuple[str, tuple[str, ...]]:
    password = "".join(random.choices(_ALPHABETS["any"], k=12))
    encoded = base64.b64encode(f"admin:{password}".encode()).decode()
    return f"sent with basic {encoded}", (encoded.rstrip("="),)


def bearer_token(random: Random) -> tuple[str, tuple[str, ...]]:
    return filled("it answers 401 to bearer {any:40}", random)


def putty_key(random: Random) -> tuple[str, tuple[str, ...]]:
    lines = ["".join(random.choices(_ALPHABETS["b64"], k=64)) for _ in range(4)]
    head = "PuTTY-User-Key-File-3: ssh-rsa\nEncryption: none\nPrivate-Lines: 4"
    return "\n".join([head, *lines, "Private-MAC: none"]), tuple(lines)


MADE: dict[str, Callable[[Random], tuple[str, tuple[str, ...]]]] = {
    "private-key": private_key,
    "putty-key": putty_key,
    "card-number": card_number,
    "basic-credential": basic_credential,
    "bearer-token": bearer_token,
}
