"""Sentences such as people and agents store: 40 to 200 characters, all distinct, the same in every run."""

_OPENINGS = (
    "The user prefers",
    "During the review we agreed on",
    "The deployment of last week needed",
    "After the incident the team decided for",
    "The staging environment still depends on",
    "Everybody who writes tests should know about",
    "The customer from Lisbon asked twice for",
    "Measured on the small machine, nothing beats",
)
_SUBJECTS = (
    "short answers without bullet points",
    "a migration that runs before the servers restart",
    "real databases instead of mocks",
    "the nightly export in the old format",
    "a cache in front of the search service",
    "Friday releases with a rollback plan",
    "dark colours and large type on every page",
    "two approvals for changes of the billing code",
    "an index on the column that everybody filters by",
)
_CLOSINGS = (
    "because the last attempt took the whole weekend to repair",
    "which saves about four minutes in every build",
    "unless the quarter is about to close",
    "and wants to be reminded of it before the next planning",
    "even though the vendor recommends something else",
    "so please ask before changing anything there",
    "as long as the budget allows",
)


def sentence(number: int) -> str:
    """A text of its own for every number; without the number in it, searches would find everything alike."""
    opening = _OPENINGS[number % len(_OPENINGS)]
    subject = _SUBJECTS[number // 3 % len(_SUBJECTS)]
    closing = _CLOSINGS[number // 5 % len(_CLOSINGS)]
    if number % 3 == 0:
        return f"{opening} {subject} (case {number:x})."
    return f"{opening} {subject}, {closing} (case {number:x})."
