"""Facts that are sentences somebody said in passing: the local judge lets one end another only where they tell of one
matter. With the real models.
"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from memorist.facts.matters import Matter, matter_of
from memorist.facts.plain.cues import has_other_numbers, tells_of_a_change
from memorist.facts.values import Ruling, Verdict
from memorist.memories import lifecycle
from memorist.memories.values import Memory
from memorist.platform.values import Owner
from tests.facts.judges import local_judge

NOW = datetime(2026, 5, 20, tzinfo=UTC)
BEFORE = datetime(2026, 5, 3, tzinfo=UTC)


def said(content: str, message: str = "", about: str = "User", at: datetime = NOW) -> Memory:
    """A fact that the local extractor learned from a message."""
    meta = {lifecycle.EXTRACTOR: lifecycle.LOCAL_EXTRACTOR, "about": about, "message_id": message or content}
    return Memory("mem_1", "t", content, "", "", at, at, Owner("ada"), meta=meta)


def stated(content: str) -> Memory:
    return replace(said(content), meta={})


def judged(older: Memory, newer: Memory) -> Verdict:
    return local_judge().judge([(newer, replace(older, created_at=BEFORE))])[0]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User teaches 4th grade at Lincoln Elementary.", "User: They moved my classroom upstairs finally."),
        (
            "User does not have a car, they get around by bike.",
            "User: started swimming lessons with my neighbour, I can do a full lap now!",
        ),
        ("User has plantar fasciitis in their left foot.", "User: Dropped out of Chicago, the foot is too bad."),
        ("User has about 20k in credit card debt.", "User: Rent went up to 1550."),
        ("User works 60 hours a week.", "User got promoted to head chef."),
        ("User is Grace.", "User: Early!!! Husband is back."),
        ("User works in a cafe on saturdays.", "User: switched to political science."),
    ],
)
def test_what_is_said_of_another_matter_ends_nothing(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.UNRELATED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User takes lisinopril for blood pressure.", "User: no more lisinopril, the doctor says it is fine now."),
        ("User lives in a dorm with eleven people.", "User: moved out of the dorm into a studio."),
        ("User has two cats, Pixel and Toast.", "User: Toast ran away in March, we only have Pixel now."),
        ("User's rent is 1400.", "User: Rent went up to 1550."),
        ("User cannot swim.", "User: took lessons, I can swim now!"),
        ("User lives in Hove.", "User: We moved to Bristol last week."),
        ("User: We live in Tampa.", "User moved into an apartment in Orlando."),
        ("User lives in a small flat in Leeds.", "User moved to Bristol."),
    ],
)
def test_what_ends_the_same_matter_still_retires_it(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.CONTRADICTS


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User drinks 2 cups of coffee a day.", "User cannot have caffeine anymore because of their heart."),
        ("User: We rehearse Mondays and Wednesdays.", "Rehearsals are Tuesdays only now."),
    ],
)
def test_what_is_near_and_shares_no_word_is_for_somebody_to_decide(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.UNSURE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User: they want us in the office three days a week.", "Office is in Charlotte, 2 hours each way."),
        ("User: About me: Vegan.", "User: About me: Bad left knee (torn meniscus 2018)"),
        ("User: the drummer quit.", "User: got a new drummer."),
    ],
)
def test_what_is_said_in_one_message_is_all_meant(older: str, newer: str) -> None:
    assert judged(said(older, "m"), said(newer, "m")).ruling is Ruling.UNRELATED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User: Painting is so freeing, it lets my feelings out.", "User: It inspired me to paint a mural."),
        ("User wrote down all of their goals.", "User: The talk gave me a boost to go after my goals."),
        ("User won their fourth chess tournament on Friday.", "User is preparing for other tournaments."),
        ("User raised money for the shelter.", "User: The donations even paid for a roof at the shelter!"),
    ],
)
def test_what_tells_of_no_change_puts_nothing_in_doubt(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.UNRELATED


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User works as a chef.", "User does not work as a chef anymore, they are doing deliveries now."),
        ("User is vegetarian.", "User eats meat now."),
        (
            "User: Mum had a stroke on Tuesday, she's in St James's hospital.",
            "User: mum's home from hospital. She's walking with a stick now.",
        ),
        ("User's wife Ada is pregnant, due in July!", "User: our daughter Mia was born on July 8th."),
    ],
)
def test_what_tells_of_a_change_of_the_same_matter_is_asked_about(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.UNSURE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User is a backend dev at Zalando, mostly Go.", "User got laid off on friday."),
        ("User is a backend dev at Zalando, mostly Go.", "User is starting at Delivery Hero as a staff engineer."),
        ("User works for Sage.", "User accepted an offer from Wise."),
        ("User works at Tesco.", "User got fired from Tesco."),
        ("User works at Tesco and lives in Leeds.", "User lost their job."),
    ],
)
def test_another_job_or_none_puts_the_old_one_in_doubt(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.UNSURE


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("User works at Tesco.", "User's wife got laid off."),
        ("User works at Tesco.", "User lost their job at Boots."),
        ("User is a student at Leeds.", "User works at Tesco."),
        ("User is a member at Harbour Gym.", "User accepted an offer from Wise."),
        ("User has a brother who works at Tesco.", "User got laid off on friday."),
    ],
)
def test_what_is_no_job_of_theirs_stays_when_a_job_ends(older: str, newer: str) -> None:
    assert judged(said(older), said(newer)).ruling is Ruling.UNRELATED


def test_of_other_languages_no_words_of_a_change_are_asked() -> None:
    assert tells_of_a_change("Ich wohne in Bonn und arbeite bei der Post.")
    assert not tells_of_a_change("I live in Bonn and work for the post office.")
    assert not tells_of_a_change('Asked "What book moved you?", Ada said: I have read none of them.')
    assert has_other_numbers("The rent is 950.", "The rent is 1050.")
    assert not has_other_numbers("The rent is 950.", "950 for two rooms, since 2021.")


def test_a_long_sentence_is_not_retired_for_the_little_that_the_newer_one_takes_up() -> None:
    older = "User is building a recipe app called Ladle, in SvelteKit with a Supabase backend."
    newer = "User: we ditched supabase, moved Ladle to plain postgres on fly.io."
    assert judged(said(older), said(newer)).ruling is Ruling.UNSURE
    assert judged(said("User is building a recipe app."), said("User dropped the recipe app.")).ruling is (
        Ruling.CONTRADICTS
    )


def test_plain_words_of_another_value_count_in_passing_as_well() -> None:
    assert judged(said("User lives in Porto."), said("User moved to Vienna.")).ruling is Ruling.CONTRADICTS


def test_facts_that_were_written_as_such_are_judged_as_before() -> None:
    older, newer = "User drinks 2 cups of coffee a day.", "User cannot have caffeine anymore because of their heart."
    assert judged(stated(older), stated(newer)).ruling is Ruling.CONTRADICTS
    assert matter_of(stated(newer), stated(older)) is Matter.STATED
    assert matter_of(said(newer), stated(older)) is Matter.STRANGE


def test_a_speaker_is_no_matter() -> None:
    """Their name is in all that they say."""
    one = said("Mia Brandt just got back from the coast.", about="Mia Brandt")
    other = said("Mia Brandt: the printer is broken again.", about="Mia Brandt")
    assert matter_of(one, other) is Matter.STRANGE
    assert matter_of(one, said("Mia Brandt loves the coast.", about="Mia Brandt")) is Matter.SHARED
