"""Reads that requests share: none that had begun before its reader came."""

import asyncio

from agui_host.backends.postgres.shared_reads import SharedReads


class Source:
    """Answers each read with its number, once it is let go."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = asyncio.Event()

    async def read(self) -> int:
        self.begun += 1
        number = self.begun
        await self.go.wait()
        return number


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_who_comes_during_a_read_shares_the_next() -> None:
    reads, source = SharedReads[int](), Source()
    first = [asyncio.create_task(reads.get("key", source.read)) for _ in range(3)]
    await turns()
    assert source.begun == 1
    assert not reads.is_waiting("key"), "it has begun"
    later = [asyncio.create_task(reads.get("key", source.read)) for _ in range(100)]
    await turns()
    assert source.begun == 1, "one at a time"
    assert reads.is_waiting("key")
    source.go.set()
    assert await asyncio.gather(*first) == [1] * 3
    assert await asyncio.gather(*later) == [2] * 100
    assert await reads.get("key", source.read) == 3, "a read that has ended is not given out again"


async def test_other_keys_do_not_wait() -> None:
    reads, source = SharedReads[int](), Source()
    asking = [asyncio.create_task(reads.get(key, source.read)) for key in "abc"]
    await turns()
    assert source.begun == 3
    source.go.set()
    assert await asyncio.gather(*asking) == [1, 2, 3]


async def test_a_reader_who_leaves_takes_nothing_from_the_others() -> None:
    reads, source = SharedReads[int](), Source()
    leaving, staying = (asyncio.create_task(reads.get("key", source.read)) for _ in range(2))
    await turns()
    leaving.cancel()
    await turns()
    assert leaving.cancelled()
    source.go.set()
    assert await staying == 1


async def test_all_get_the_error_and_the_next_tries_again() -> None:
    reads = SharedReads[int]()
    outcomes = iter((LookupError("no"), None))

    async def read() -> int:
        if error := next(outcomes):
            raise error
        return 7

    errors = await asyncio.gather(
        *(reads.get("key", read) for _ in range(5)), return_exceptions=True
    )
    assert [str(error) for error in errors] == ["no"] * 5
    assert await reads.get("key", read) == 7
