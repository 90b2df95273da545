"""Secrets in texts: found by their formats, replaced by `[REDACTED:<rule>]`. Pure, and linear in the text's length."""

from memorist.secrets.redact import Redacted, SecretFinding, names_a_secret, redact, redact_value

__all__ = ["Redacted", "SecretFinding", "names_a_secret", "redact", "redact_value"]
