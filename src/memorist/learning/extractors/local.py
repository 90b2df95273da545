"""The extractor that needs no language model: a trained tagger chooses the sentences, rules make facts of them.

What an assistant says is read by rules alone, and only for work that was done: what a user is like, the user tells.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from memorist.languages import is_english
from memorist.learning.extractors.corrections import (
    correcting,
    correction_of_before,
    follows_directly,
    is_last_said,
    takes_back,
    with_corrections,
    without_taken_back,
)
from memorist.learning.extractors.days import dated, names_a_coming_day
from memorist.learning.extractors.kinds import LONGEST_CONTENT, Candidate, StatementKind, Vocabulary
from memorist.learning.extractors.plain import (
    answers,
    claim_spans,
    is_a_bare_answer,
    is_of_somebody_named_before,
    is_plainly_told,
    names_somebody,
    stands_alone,
)
from memorist.learning.extractors.rules import rule_for, says_how_it_is, says_nothing
from memorist.learning.extractors.sentences import headings, sentence_spans
from memorist.learning.extractors.shorthand import with_subject
from memorist.learning.extractors.statements import (
    is_a_guess,
    is_a_joke,
    is_about_a_text,
    is_mostly_quoted,
    own_words,
    sets_a_fiction,
    statements,
    without_supposed,
)
from memorist.learning.extractors.third_person import ASSISTANT, USER_AT_HOME, USER_AT_WORK, Voices, told_of
from memorist.learning.extractors.transcripts import Utterance
from memorist.memories.values import Trust
from memorist.models.passages import count_words, turn
from memorist.models.port import Tagger
from memorist.models.values import Passage, Tag

KEPT = 0.5
"""How likely a sentence must be worth keeping."""

# More was hardly typed by a person.
_LONGEST_MESSAGE = 12_000
# What the tagger reads well at once.
_WORDS_AT_ONCE = 140
# Messages of the user that may be about a story after it was asked for, with the one that asks.
_FICTION_LASTS = 4
# A shorter stretch of words may be in a tool's output by chance.
_SHORTEST_COPY = 15
_LONGEST_QUESTION = 160
# "Sold the Golf yesterday, got 2k for it".
_LONG_ENOUGH = 8
_POINTING = re.compile(r" (?:it|this|that|them|those|these|one|there)\Z", re.IGNORECASE)
_AND_THIS = re.compile(
    r"\W*(?:(?:and|now|next|also)\W*)?(?:this|the next|another|one more|continue|again)\b", re.IGNORECASE
)
_WORDS = re.compile(r"\w+")
_ASKS = re.compile(r"[^,，、،;；:.!。।?？؟]*[?？؟]\W*")
_OF_SPEAKER = re.compile(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b")
_OF_ADDRESSEE = re.compile(r"\byou(?:r|rs)?\b", re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_PICTURE = re.compile(r"(?<!\s)\s*\[(?:shared )?(?:image|photo|picture|video|sticker)\b[^\]]{0,500}\]", re.IGNORECASE)
_CLAUSE = re.compile(r"(?<=[,;]) (?=(?:and|but|so|because|considering|given|which|while|since|although)\b)")

_KINDS = {
    "goal": StatementKind.GOAL,
    "plan": StatementKind.COMMITMENT,
    "taste": StatementKind.PREFERENCE,
    "diet": StatementKind.PREFERENCE,
    "instruction": StatementKind.PREFERENCE,
    "decision": StatementKind.DECISION,
    "other": StatementKind.INSIGHT,
}
"""What a sentence is by its topic; a fact where the topic is not named."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """Sentences of a message that make one memory: where they begin and end, and what the first one's tag is."""

    spans: tuple[tuple[int, int], ...]
    tag: Tag
    before: str = ""
    """What the message before says that this one answers."""
    quoted: int | None = None
    """The number of that message, where it is another one."""
    heading: str = ""
    """The line above the list of which this is an item."""
    who: str = ""
    """The sentence of an earlier message that says of whom this one tells."""


def extract_locally(
    messages: Sequence[Utterance], vocabulary: Vocabulary, tagger: Tagger | None, *, since: int = 0
) -> list[Candidate]:
    """What is worth remembering, in the order in which it was said, each thing once.

    The messages before number `since` were read before: they tell what the others are about. Without a tagger only what
    rules know of work is found.
    """
    tools = [_Output(message.content) for message in messages if message.role == "tool"]
    read = {
        index: without_supposed(without_taken_back(own_words(one.content[:_LONGEST_MESSAGE])))
        for index, one in _meant(messages)
        if index >= since
    }
    people = {index: text for index, text in read.items() if tagger is not None and messages[index].is_person}
    tagged = {} if tagger is None else _tagged(messages, people, tagger)
    found: list[Candidate] = []
    for index, own in read.items():
        message = messages[index]
        before = _same_speakers_last(messages, index) if message.role == "user" else None
        corrected = None
        if before is not None and tagger is not None and index in tagged:
            corrected = _corrected(messages, before, index, vocabulary, tagger)
        if corrected or takes_back(message.content):
            found = [one for one in found if one.source != before or not _is_last_of(one, messages)]
        of_message = _of_person(index, messages, own, tagged[index], vocabulary) if index in tagged else ()
        of_work = _of_work(index, message, own) if vocabulary is Vocabulary.CODING or index not in tagged else ()
        by_rule = [*([corrected] if corrected else []), *of_work]
        by_tagger = [one for one in of_message if not any(_overlap(one, other) for other in by_rule)]
        in_order = sorted((*by_rule, *by_tagger), key=lambda one: message.content.find(one.excerpt))
        found += [one for one in in_order if not _is_copied(one, tools)]
    return list({one.content.casefold(): one for one in reversed(found)}.values())[::-1]


def _same_speakers_last(messages: Sequence[Utterance], index: int) -> int | None:
    """The number of the message before one, where the same person said that and at most the assistant spoke since."""
    said = (number for number in range(index - 1, -1, -1) if messages[number].role not in ("assistant", "tool"))
    before = next(said, None)
    if before is None or messages[before].role != "user" or messages[before].name != messages[index].name:
        return None
    return before


def _corrected(
    messages: Sequence[Utterance], before: int, index: int, vocabulary: Vocabulary, tagger: Tagger
) -> Candidate | None:
    """What one message says last, together with the correction of it by which another begins: "Sorry, I meant …"."""
    correction = correction_of_before(messages[index].content)
    earlier = own_words(messages[before].content[-_LONGEST_MESSAGE:])
    said = sentence_spans(earlier)
    if not correction or not said:
        return None
    last = earlier[slice(*said[-1])]
    last = last if last.endswith((".", "!", "?")) else f"{last}."
    together = replace(messages[index], content=f"{last} {correction}")
    for one in extract_locally([together], vocabulary, tagger):
        if one.excerpt == together.content:
            return replace(one, excerpt=correction, source=index, quoted=before)
    return None


def _is_last_of(one: Candidate, messages: Sequence[Utterance]) -> bool:
    return is_last_said(one.excerpt, messages[one.source].content)


def _overlap(one: Candidate, other: Candidate) -> bool:
    return one.excerpt in other.excerpt or other.excerpt in one.excerpt


def _meant(messages: Sequence[Utterance]) -> Iterator[tuple[int, Utterance]]:
    """The messages whose words are meant: not what is said in a story, or to be translated, nor what answers that."""
    in_fiction = 0
    in_text = False
    for index, message in enumerate(messages):
        if message.role == "user":
            own = own_words(message.content[:_LONGEST_MESSAGE])
            in_fiction = _FICTION_LASTS if sets_a_fiction(own) else max(0, in_fiction - 1)
            in_text = is_about_a_text(own) or (in_text and bool(_AND_THIS.match(own)))
        if not in_fiction and not in_text and (message.role == "assistant" or message.is_person):
            yield index, message


class _Output:
    """What a tool returned. It may be long: it is taken apart only where a word of what is looked for is in it."""

    def __init__(self, content: str) -> None:
        self._content = content

    @cached_property
    def _folded(self) -> str:
        return self._content.casefold()

    @cached_property
    def _words(self) -> str:
        return _words_of(self._content)

    def has(self, words: str) -> bool:
        return max(words.split(), key=len, default="") in self._folded and words in self._words


def _is_copied(one: Candidate, tools: Sequence[_Output]) -> bool:
    """The lowest trust wins: words that also came from a tool are the tool's."""
    copied = _words_of(one.excerpt)
    may_be_chance = one.trust is Trust.USER and len(copied) < _SHORTEST_COPY
    return not may_be_chance and any(tool.has(copied) for tool in tools)


# What people say


def _tagged(messages: Sequence[Utterance], read: dict[int, str], tagger: Tagger) -> dict[int, list[_Kept]]:
    """What is worth keeping of each message, from one run over all of them."""
    parts = [(index, passage) for index, own in read.items() for passage in _passages(messages, index, own)]
    # What somebody says again otherwise seems to be nothing new after what they said before: it is read by itself, too.
    firsts = {index: number for number, (index, _) in reversed([*enumerate(parts)])}
    goes_on = [number for index, number in firsts.items() if _follows_own(messages, index)]
    alone = [replace(parts[number][1], previous="") for number in goes_on]
    tags = tagger.tag([*(passage for _, passage in parts), *alone])
    by_itself = dict(zip(goes_on, tags[len(parts) :], strict=True))
    found: dict[int, list[_Kept]] = {}
    for number, (index, passage) in enumerate(parts):
        said = [passage.text[first:last] for first, last in passage.sentences]
        of_passage = list(map(_surer, said, tags[number], by_itself.get(number, tags[number])))
        of_passage = list(map(_as_plain_as_told, said, of_passage))
        # Only the first piece of a message stands after another one.
        before = None if index in found else _before(messages, index)
        is_own = before is not None and _follows_own(messages, index)
        # Nobody answers what they asked themselves.
        kept = [replace(one, before="") if is_own else one for one in _kept(passage, of_passage)]
        kept = [replace(one, quoted=before) if one.before else one for one in kept]
        kept = kept if before is None else [_with_name(messages, index, one) for one in kept]
        found.setdefault(index, []).extend(kept)
    return {index: found.get(index, []) for index in read}


def _follows_own(messages: Sequence[Utterance], index: int) -> bool:
    """Whether the message before one is of the same person, and not empty."""
    before = _before(messages, index)
    return before is not None and (messages[before].role, messages[before].who) == (
        messages[index].role,
        messages[index].who,
    )


def _surer(sentence: str, after_another: Tag, by_itself: Tag) -> Tag:
    """How a sentence is read after another one; by itself, where it then says something of its speaker to be kept."""
    is_new = after_another.keep < KEPT <= by_itself.keep and _OF_SPEAKER.search(sentence)
    return by_itself if is_new else after_another


def _as_plain_as_told(sentence: str, tag: Tag) -> Tag:
    """What somebody says of themselves outright is kept, however short or small the sentence is written. What is only
    asked is not, which the tagger knows of English alone; with a comma a question may begin with what is so.
    """
    if _ASKS.fullmatch(sentence) and not is_english(sentence):
        return replace(tag, keep=0.0)
    return replace(tag, keep=KEPT) if tag.keep < KEPT and is_plainly_told(sentence) else tag


def _with_name(messages: Sequence[Utterance], index: int, kept: _Kept) -> _Kept:
    """What begins with "she" or "he", with the sentence before it, of the same person's last message, that says who."""
    text = messages[index].content
    earlier = _same_speakers_last(messages, index) if messages[index].role == "user" else None
    is_first = not text[: kept.spans[0][0]].strip() and not kept.before
    if earlier is None or not is_first or not is_of_somebody_named_before(text[kept.spans[0][0] :]):
        return kept
    own = own_words(messages[earlier].content[-_LONGEST_MESSAGE:])
    said = [own[first:last] for first, last in sentence_spans(own)]
    told = [one for one in said if names_somebody(one) and not is_of_somebody_named_before(one)]
    if not told or told[-1].endswith("?") or len(told[-1]) > _LONGEST_QUESTION:
        return kept
    return replace(kept, who=told[-1], quoted=earlier)


def _before(messages: Sequence[Utterance], index: int) -> int | None:
    """The number of the message that one answers."""
    said = (number for number in range(index - 1, -1, -1) if messages[number].role != "tool")
    return next((number for number in said if messages[number].content), None)


def _passages(messages: Sequence[Utterance], index: int, own: str) -> Iterator[Passage]:
    """A message in pieces that the tagger reads at once. Each has the whole text before it as what went before."""
    spans = claim_spans(own)
    earlier = _before(messages, index)
    # What it asks stands at its end.
    previous = (
        "" if earlier is None else turn(_speaker(messages[earlier]), messages[earlier].content[-_LONGEST_MESSAGE:])
    )
    piece: list[tuple[int, int]] = []
    for span in spans:
        if piece and count_words(own[piece[0][0] : span[1]]) > _WORDS_AT_ONCE:
            yield _passage(own, piece, messages[index], previous)
            previous, piece = turn(_speaker(messages[index]), own[: piece[-1][1]]), []
        piece.append(span)
    if piece:
        yield _passage(own, piece, messages[index], previous)


def _passage(own: str, spans: Sequence[tuple[int, int]], message: Utterance, previous: str) -> Passage:
    # What is before the piece is blank, so that a sentence keeps its position in the message.
    start = spans[0][0]
    shifted = [(first - start, last - start) for first, last in spans]
    return Passage(own[start : spans[-1][1]], shifted, _speaker(message), previous, start)


def _kept(passage: Passage, tags: Sequence[Tag]) -> Iterator[_Kept]:
    """The sentences to keep: one that is not understood without another is kept together with it."""
    open_: _Kept | None = None
    for number, ((first, last), tag) in enumerate(zip(passage.sentences, tags, strict=True)):
        span = first + passage.start, last + passage.start
        if tag.keep < KEPT:
            if open_ is not None:
                yield open_
            open_ = None
            continue
        needs_sentence = (
            (tag.needs == "sentence before" or is_of_somebody_named_before(passage.text[first:last]))
            and follows_directly(passage.text, passage.sentences, number)
            and not stands_alone(passage.text[first:last])
        )
        if open_ is not None and needs_sentence and span[1] - open_.spans[0][0] <= LONGEST_CONTENT * 0.7:
            open_ = replace(open_, spans=(*open_.spans, span), tag=_stronger(open_.tag, tag))
            continue
        if open_ is not None:
            yield open_
        spans: tuple[tuple[int, int], ...] = (span,)
        if open_ is None and needs_sentence:
            before = passage.sentences[number - 1]
            spans = ((before[0] + passage.start, before[1] + passage.start), span)
        said = passage.text[first:last]
        asked = _question(passage.previous, said) if tag.needs == "message before" and number == 0 else ""
        is_answer = tag.needs == "message before" and number == 0 and is_a_bare_answer(said)
        open_ = None if is_answer and not asked else _Kept(spans, tag, asked)
    if open_ is not None:
        yield open_


def _stronger(one: Tag, other: Tag) -> Tag:
    return one if one.must >= other.must else replace(other, needs=one.needs)


def _question(previous: str, answer: str) -> str:
    """What the message before asks at its end, or says there of the one who answers that."""
    sentences = [previous[first:last] for first, last in sentence_spans(previous)]
    asked = [one for one in sentences if one.endswith("?")]
    if not asked and answers(answer):
        asked = [one for one in sentences[-1:] if _OF_ADDRESSEE.search(one)]
    said = asked[-1].split(": ", 1)[-1] if asked else ""
    return said if len(said) <= _LONGEST_QUESTION else ""


def _candidate(index: int, messages: Sequence[Utterance], kept: _Kept, vocabulary: Vocabulary) -> Candidate:
    message = messages[index]
    voices = _voices(messages, index, vocabulary)
    excerpt = message.content[kept.spans[0][0] : kept.spans[-1][1]]
    texts = [_PICTURE.sub("", message.content[first:last]) for first, last in kept.spans]
    said_on = None if message.time is None else message.time.date()
    parts = [one for one in (kept.who, kept.heading, *texts) if one]
    content = " ".join(told_of(text, voices, said_on, follows=number > 0) for number, text in enumerate(parts))
    if kept.before:
        verb = "Asked" if kept.before.endswith("?") else "To"
        answer = " ".join(texts)
        answer = answer if said_on is None else dated(answer, said_on)
        content = f'{verb} "{kept.before}", {voices.i} said: {answer}'
    found = _KINDS.get(kept.tag.topic, StatementKind.FACT)
    is_chat = voices not in (USER_AT_HOME, USER_AT_WORK)
    about = voices.you if kept.tag.of_other > KEPT and is_chat else voices.i
    importance = (kept.tag.keep + kept.tag.should + kept.tag.must) / 3
    return Candidate(
        found,
        _short(content),
        excerpt,
        round(kept.tag.keep, 3),
        index,
        Trust.USER,
        topic=kept.tag.topic,
        about=about,
        importance=round(importance, 3),
        quoted=kept.quoted,
    )


def _of_person(
    index: int, messages: Sequence[Utterance], own: str, told: Sequence[_Kept], vocabulary: Vocabulary
) -> Iterator[Candidate]:
    done: set[tuple[int, int]] = set()
    sentences = claim_spans(own)
    above = headings(own, sentence_spans(own))
    are_headings = set(above.values())
    corrects = correcting(own, sentences)
    for one in told:
        # What corrects a sentence was kept with it.
        if done.issuperset(one.spans):
            continue
        kept = replace(one, spans=with_corrections(own, sentences, corrects, one.spans))
        done.update(kept.spans)
        heading = above.get(kept.spans[0])
        kept = replace(kept, heading=own[slice(*heading)] if heading else "")
        text = own[kept.spans[0][0] : kept.spans[-1][1]]
        is_alone = len(kept.spans) == 1 and not kept.before
        is_empty = is_alone and (_is_empty(text.strip(" .!")) or kept.spans[0] in are_headings)
        # A number says something under its heading, or to a question.
        is_empty = is_empty or not (kept.heading or kept.before or _LETTER.search(text))
        # It would be wrong from the day after on.
        is_passing = messages[index].time is None and names_a_coming_day(text)
        is_joke = any(is_a_joke(own[slice(*span)]) for span in kept.spans if span not in corrects)
        is_no_work = vocabulary is Vocabulary.CODING and (is_a_guess(text) or says_how_it_is(text))
        if not (is_empty or is_passing or is_no_work or is_joke or is_mostly_quoted(text)):
            yield _candidate(index, messages, kept, vocabulary)


def _is_empty(text: str) -> bool:
    """Whether a sentence says nothing by itself: a longer one has in it what its last word stands for."""
    text = with_subject(text)
    return says_nothing(text if len(text.split()) < _LONG_ENOUGH else _POINTING.sub("", text))


def _short(content: str) -> str:
    """At most as many characters as a memory may have, cut where a clause ends."""
    if len(content) <= LONGEST_CONTENT:
        return content
    cuts = [found.start() for found in _CLAUSE.finditer(content) if found.start() < LONGEST_CONTENT]
    at = cuts[-1] if cuts and cuts[-1] > LONGEST_CONTENT / 2 else content.rfind(" ", 0, LONGEST_CONTENT - 1)
    return f"{content[: at if at > 0 else LONGEST_CONTENT - 1].rstrip(' ,;')}…"


def _voices(messages: Sequence[Utterance], index: int, vocabulary: Vocabulary) -> Voices:
    """Whom the pronouns of a message mean: in a chat of two, `you` is the other one."""
    message = messages[index]
    others = {one.who: one.name for one in messages if one.is_person and one.name and one.who not in ("", message.who)}
    # A user whose name is given is still the user, unless several people are.
    if not message.name or (message.role == "user" and not others):
        return USER_AT_WORK if vocabulary is Vocabulary.CODING else USER_AT_HOME
    return Voices(message.name, next(iter(others.values())) if len(others) == 1 else "the others")


def _speaker(message: Utterance) -> str:
    return {"user": "User", "assistant": "Assistant", "tool": "Tool"}.get(message.role, message.name or "")


# What is said of work


def _of_work(index: int, message: Utterance, own: str) -> Iterator[Candidate]:
    """What rules find: conventions, decisions and solutions, whoever tells of them."""
    by_agent = message.role == "assistant"
    for statement in statements(message.content, own):
        fitting = rule_for(statement.text, by_agent=by_agent)
        if fitting is not None:
            rule, match = fitting
            clause = statement.text
            if rule.content is not None:
                clause = rule.content.format(*match.groups(), whole=clause[:1].lower() + clause[1:])
            said_on = None if message.time is None else message.time.date()
            content = told_of(clause, ASSISTANT if by_agent else USER_AT_WORK, said_on, follows=True)
            yield Candidate(rule.found, content, statement.excerpt, rule.confidence, index, message.trust)


def _words_of(text: str) -> str:
    """The words alone, so that a copy is known whatever its line breaks and marks."""
    return " ".join(_WORDS.findall(text.casefold()))
