"""Which batch of which producer may be appended: the rules of Durable Streams' producers.

A run has one producer at a time. A producer numbers its batches within an epoch, from 0; a
restarted one, or another that takes over, begins the next epoch. So a batch that was sent twice is
stored once, and a producer that was replaced learns it.
"""

from dataclasses import dataclass

from agui_host.errors import Conflict, Forbidden

LONGEST_ID = 255
MOST = 2**53 - 1
ID, EPOCH, SEQ = "producer-id", "producer-epoch", "producer-seq"
EXPECTED, RECEIVED = "producer-expected-seq", "producer-received-seq"


class StaleEpoch(Forbidden):
    """Another producer feeds this run now; take it over with the next epoch, or stop."""

    code = "stale_epoch"


class SequenceGap(Conflict):
    """Batches before this one are missing."""

    code = "sequence_gap"


@dataclass(frozen=True, slots=True)
class Place:
    """A batch's place: its producer, its epoch, and its number in it; -1 is before the first."""

    producer: str
    epoch: int
    seq: int

    @property
    def headers(self) -> dict[str, str]:
        """The headers of the answer to an accepted batch."""
        return {EPOCH: str(self.epoch), SEQ: str(self.seq)} if self.epoch >= 0 else {}


def is_new(stored: Place, place: Place) -> bool:
    """Whether the batch follows the ``stored`` one; False for a repeated one.

    Raises StaleEpoch, and SequenceGap, also for a new epoch that does not begin with 0.
    """
    replaced = place.epoch == stored.epoch and place.producer != stored.producer
    if place.epoch < stored.epoch or replaced:
        raise StaleEpoch(details={"epoch": stored.epoch}, headers={EPOCH: str(stored.epoch)})
    # Stock producers send several batches at once. If one overtakes the first of a new epoch, the
    # specification answers 400, and the producer gives up; told of the gap, it sends it again.
    last = stored.seq if place.epoch == stored.epoch else -1
    if place.seq > last + 1:
        raise SequenceGap(details={"expected": last + 1}, headers=gap(last + 1, place.seq))
    return place.seq > last


def gap(expected: int, received: int) -> dict[str, str]:
    """The headers that tell a producer which number was expected, and which came."""
    return {EXPECTED: str(expected), RECEIVED: str(received)}
