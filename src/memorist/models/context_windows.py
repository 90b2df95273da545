"""How many tokens a language model reads at most: a small table, kept by hand, on the safe side.

The longest name that a model's begins with counts. MEMORIST_LLM_CONTEXT_TOKENS names another size.
"""

UNKNOWN = 32_000
"""What a model that is not listed is believed to read."""

_WINDOWS = {
    "anthropic": {"claude": 200_000},
    "openai": {
        "gpt-5": 272_000,
        "gpt-4.1": 1_000_000,
        "gpt-4o": 128_000,
        "o4-mini": 200_000,
        "o3": 200_000,
    },
}


def context_window(model_id: str) -> int:
    """The size for a model that is named as `provider:model`."""
    provider, _, model = model_id.partition(":")
    known = _WINDOWS.get(provider, {})
    fitting = [name for name in known if model.startswith(name)]
    return known[max(fitting, key=len)] if fitting else UNKNOWN
