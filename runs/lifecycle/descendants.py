"""The threads that runs of a thread began for the runs they spawned: purged and erased with it."""

from uuid import UUID

from runs.models import Run, Thread


def of(thread: Thread) -> list[UUID]:
    """The ids of all threads that descend from this one, without its own."""
    descendants: dict[UUID, None] = {}
    level = [thread.pk]
    while level:
        spawned = Run.objects.for_team(thread.team).filter(parent__thread__in=level)
        ids = spawned.values_list("thread_id", flat=True).distinct()
        level = [key for key in ids if key not in descendants and key != thread.pk]
        descendants |= dict.fromkeys(level)
    return list(descendants)


def began(parent: Run, thread_id: str) -> bool:
    """Whether a run of the parent's thread spawned a run in the thread of that name."""
    spawned = Run.objects.filter(team=parent.team, thread__thread_id=thread_id)
    return spawned.filter(parent__thread=parent.thread_id).exists()


def depth(run: Run) -> int:
    """How many runs are above this one."""
    count = 0
    above = run.parent_id
    while above is not None:
        count += 1
        parents = Run.objects.for_team(run.team).values_list("parent_id", flat=True)
        above = parents.get(pk=above)
    return count
