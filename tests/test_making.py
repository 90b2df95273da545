"""Frozen values that are made without their constructor: nobody can tell."""

import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from memorist.making import maker_of
from memorist.memories.values import Memory
from memorist.testing.makers import full_memory


@dataclass(frozen=True, slots=True)
class Place:
    name: str
    country: str = "Portugal"
    people: int | None = None

    @property
    def called(self) -> str:
        return f"{self.name}, {self.country}"


def test_is_as_the_constructor_makes_it() -> None:
    made = maker_of(Place)("Lisbon", "Portugal", 5)
    assert made == Place("Lisbon", people=5)
    assert (type(made), hash(made), repr(made)) == (
        Place,
        hash(Place("Lisbon", people=5)),
        repr(Place("Lisbon", people=5)),
    )
    assert made.called == "Lisbon, Portugal"
    assert replace(made, name="Porto") == Place("Porto", people=5)
    assert pickle.loads(pickle.dumps(made)) == made


def test_what_is_left_out_has_its_default() -> None:
    assert maker_of(Place)("Porto") == Place("Porto")
    with pytest.raises(TypeError, match="name"):
        maker_of(Place)()


def test_is_frozen() -> None:
    made = maker_of(Place)("Porto")
    with pytest.raises(FrozenInstanceError):
        made.name = "Lisbon"  # type: ignore[misc]


def test_each_of_a_memorys_fields_is_where_it_belongs() -> None:
    memory = full_memory("acme")
    values = [getattr(memory, name) for name in Memory.__slots__]
    assert maker_of(Memory)(*values) == memory
