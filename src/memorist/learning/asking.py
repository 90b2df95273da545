"""Asking a language model what is worth remembering of a conversation."""

from collections.abc import Sequence

from memorist.errors import LlmMalformed, LlmRefused
from memorist.learning.extractors.answers import read_answer
from memorist.learning.extractors.kinds import Findings
from memorist.learning.extractors.prompt import repair_request, request_for
from memorist.learning.extractors.transcripts import Utterance
from memorist.models.port import Llm
from memorist.models.values import Stop, Usage


def ask(
    llm: Llm, messages: Sequence[Utterance], spent: list[Usage], *, since: int, known: Sequence[str], answer_tokens: int
) -> Findings:
    """What a language model finds; an answer that cannot be read is asked for once more. Raises LlmError."""
    request = request_for(messages, known, answer_tokens)
    for is_last in (False, True):
        answer = llm.ask(request)
        spent.append(answer.usage)
        if answer.stop is Stop.REFUSED:
            raise LlmRefused
        was_cut = answer.stop is Stop.LENGTH
        try:
            found = read_answer(answer.text, messages, since)
            if was_cut and not found.candidates and not found.dropped:
                # An empty list that it only weighed: it had not come to an end.
                raise LlmMalformed
            return found
        except LlmMalformed as error:
            if is_last:
                raise LlmMalformed(_TOO_LONG.format(llm.model_id) if was_cut else None) from error
            request = repair_request(request, answer.text, _CUT if was_cut else error.message)
    raise AssertionError("unreachable")


_CUT = "it was too long and broke off; list fewer memories, the most important ones"
_TOO_LONG = "{}'s answer broke off: it is longer than MEMORIST_EXTRACTION_ANSWER_TOKENS allows."
