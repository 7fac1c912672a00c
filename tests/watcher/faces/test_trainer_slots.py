"""Which label a trainer has in the metrics."""

from watcher.faces.trainer_slots import OTHER, SLOTS, TrainerSlots


def test_label_is_kept_when_others_come_and_go() -> None:
    """A series must not jump from one trainer to another while both are there."""
    slots = TrainerSlots()
    assert slots.labels(["a", "b"]) == {"a": "0", "b": "1"}
    assert slots.labels(["b"]) == {"b": "1"}
    assert slots.labels(["c", "b"]) == {"c": "0", "b": "1"}


def test_label_is_shared_when_there_are_too_many() -> None:
    """Who fills the directory fills one series with it, and whoever was there keeps his own."""
    slots = TrainerSlots()
    slots.labels(["mine"])
    labels = slots.labels(["mine", *(f"t{number:03d}" for number in range(200))])
    assert labels["mine"] == "0"
    assert len({label for label in labels.values() if label != OTHER}) == SLOTS
    assert sum(label == OTHER for label in labels.values()) == 201 - SLOTS


def test_label_is_given_to_who_had_none_when_one_is_free_again() -> None:
    """At the next look."""
    slots = TrainerSlots()
    crowd = [f"t{number}" for number in range(SLOTS + 1)]
    assert slots.labels(crowd)[crowd[-1]] == OTHER
    assert slots.labels(crowd[1:])[crowd[-1]] == "0"
