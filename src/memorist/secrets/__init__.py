"""Secrets in texts: found by their formats, replaced by `[REDACTED:<rule>]`. Pure, and linear in the text's length."""

from memorist.secrets.redact import Finding, Redacted, names_a_secret, redact, redact_value

__all__ = ["Finding", "Redacted", "names_a_secret", "redact", "redact_value"]
