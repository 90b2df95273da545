"""The story that `memorist demo` tells, and the dashboard as sample data: two friends open a bicycle workshop."""

from datetime import UTC, datetime
from typing import NamedTuple


class Scene(NamedTuple):
    """One conversation: when it was, and who said what."""

    session: str
    time: datetime
    turns: tuple[tuple[str, str], ...]


class StoryQuestion(NamedTuple):
    """A question, what its answer shows, and a piece of the text that comes first; '' where nothing should.

    `why_not` is a text that does not come back: the answer says why.
    """

    question: str
    shows: str
    expected: str
    known_at: datetime | None = None
    why_not: str | None = None


PEOPLE = "Ines and Theo"

SCENES = (
    Scene(
        "kitchen-table",
        datetime(2026, 3, 3, 19, 30, tzinfo=UTC),
        (
            ("Theo", "I signed the lease this morning. The old bakery in Mill Lane is ours!"),
            ("Ines", "No way! So the bicycle workshop is really happening?"),
            ("Theo", "It is. Eighty square metres, a big window, and it still smells of cinnamon."),
            ("Ines", "And what is the plan?"),
            ("Theo", "We open on Friday, the 22nd of May. That leaves us eleven weeks."),
            ("Ines", "Good. I'll ask my sister to draw the logo, she owes me a favour."),
            ("Theo", "And what do we call it?"),
            ("Ines", "Second Spin. Because every bike deserves one."),
            ("Theo", "Sold! I'll get the web address tonight."),
        ),
    ),
    Scene(
        "after-the-bank",
        datetime(2026, 3, 21, 12, 10, tzinfo=UTC),
        (
            ("Ines", "The bank called: nine thousand, to be paid back over four years."),
            ("Theo", "That covers two repair stands and the wheel truing jig."),
            ("Ines", "And the compressor?"),
            ("Theo", "Second-hand, from the theatre. Marek lends me his van on Tuesday."),
            ("Ines", "And the front door, shall we paint it?"),
            ("Theo", "Petrol blue, no question."),
            ("Ines", "I'll order two litres then."),
            ("Theo", "One more thing: please no walnut cake at the party. My throat swells up within minutes."),
            ("Ines", "Oh dear, good to know. Lemon cake it is."),
        ),
    ),
    Scene(
        "electrician",
        datetime(2026, 4, 18, 8, 45, tzinfo=UTC),
        (
            ("Theo", "Bad news: the electrician has no time before June."),
            ("Ines", "So we can forget the 22nd of May?"),
            ("Theo", "Yes. We open on Friday, the 12th of June instead."),
            ("Ines", "All right. I'll stop the flyers before they are printed."),
            ("Theo", "Thanks. And ask them for recycled paper while you are at it."),
            ("Ines", "Who could give the first evening class?"),
            ("Theo", "Amina. She used to race, and nobody explains brakes better."),
            ("Ines", "Then brakes and gears with Amina, every other Wednesday."),
        ),
    ),
    Scene(
        "saturday-shift",
        datetime(2026, 5, 9, 10, 5, tzinfo=UTC),
        (
            ("Ines", "The cargo bike weighs thirty-eight kilos, and that is without the box."),
            ("Theo", "Then the old hooks won't hold it. I'll put it on the floor rack."),
            ("Ines", "A lady left a green folding bike, with no name and no number."),
            ("Theo", "Put a tag on it. The rules say how long we have to keep it."),
            ("Ines", "Did you check what we have in stock?"),
            ("Theo", "Just now, I sent you the list."),
            ("Ines", "Perfect. I'll order what is missing on Monday."),
        ),
    ),
    Scene(
        "evening-call",
        datetime(2026, 5, 30, 20, 15, tzinfo=UTC),
        (
            ("Theo", "The signwriter was here. The name looks wonderful above the window."),
            ("Ines", "Send me a picture! Is the paint dry?"),
            ("Theo", "Almost. By the way, the insurance wants a photo of the fire extinguisher."),
            ("Ines", "It hangs beside the back door, I'll take one tomorrow."),
            ("Theo", "And my parents arrive the evening before, by the night train from Graz."),
            ("Ines", "Lovely. They can sleep in my study, I'll make the bed."),
            ("Theo", "You are the best. See you at seven?"),
            ("Ines", "Seven it is. I bring the coffee."),
        ),
    ),
)

TOOL_NAME = "stock_lookup"
TOOL_SESSION = "saturday-shift"
TOOL_OUTPUT = """\
item                 on the shelf   ordered
inner tube 28 inch             14         0
inner tube 20 inch              2        24
brake pads                     31         0
chain, 9-speed                  5        10
tyre levers                    40         0
"""

DOCUMENT_TITLE = "House rules"
DOCUMENT = """\
# House rules

## Repairs
Small repairs are done while you wait. For everything else you get a slip with a number.
A repair above 80 euros is only done after you have agreed to the price.

## Bikes that nobody fetches
We call twice. After ninety days an uncollected bike goes to the youth centre.

## Tools
Tools are lent for a deposit of twenty euros and never leave the workshop.
"""

FACT = "Ines wants to be reminded of appointments in the morning, never in the evening."

# What was learned in which scene, from which of its words. The second date replaces the first; about the door somebody
# must decide.
LEARNED = (
    (0, 4, "The workshop opens on Friday, 22 May 2026."),
    (1, 0, "The loan for the workshop is 9,000 euros, to be paid back over four years."),
    (1, 7, "Theo is allergic to walnuts."),
    (1, 5, "The front door is painted petrol blue and has two coats."),
    (2, 2, "The workshop opens on Friday, 12 June 2026."),
    (4, None, "The front door is painted green."),
)

QUESTIONS = (
    StoryQuestion(
        "When is the opening?",
        "Two dates were named. Each comes with who said it, and when.",
        "12th of June",
    ),
    StoryQuestion(
        "When is the opening?",
        "The same, asked of what was known on 1 April, before the plans changed.",
        "22nd of May",
        known_at=datetime(2026, 4, 1, tzinfo=UTC),
        why_not="Yes. We open on Friday, the 12th of June instead.",
    ),
    StoryQuestion(
        "How long do we have to repay the loan?",
        "Question and answer have no word in common: it is found by its meaning.",
        "over four years",
    ),
    StoryQuestion(
        "What colour will the door be?",
        "The answer does not name the door: it is found through the turn before it.",
        "Petrol blue",
    ),
    StoryQuestion(
        "How many inner tubes do we have?",
        "What a tool returned is remembered too,",
        "inner tube",
    ),
    StoryQuestion(
        "What happens to a bike that is not collected?",
        "and so are documents, in chunks that know their headings.",
        "ninety days",
    ),
    StoryQuestion(
        "What is the capital of Peru?",
        "Nobody talked about that, and recall says so instead of guessing.",
        "",
    ),
)
