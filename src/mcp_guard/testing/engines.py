"""The engines that share work among processes: `Local` on this machine, `Dask` on a cluster that somebody runs.

An engine does one thing: it calls a function with each of some items, anywhere, and adds up what comes back. Since the
sum is exact in any order, an item may be done again where a worker died, and counts once: whether it does is the
engine's own business. There is no scheduler here, no retry, and nothing is sent from worker to worker by us.
"""

from __future__ import annotations

import asyncio
import operator
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from multiprocessing import get_context
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias, TypeVar, final
from uuid import uuid4

from mcp_guard import _words

if TYPE_CHECKING:
    from distributed import Client

ItemT = TypeVar("ItemT")
SumT = TypeVar("SumT")
Done: TypeAlias = Callable[[int], None]
"""Told the index of an item that is done. Where a worker died, one may be told twice."""
_AT_ONCE: Final = 16
"""Sums that Dask adds up in one task."""
_LOOK: Final = 1.0
"""Seconds after which it is looked whether there is still somebody to wait for."""
_TOPIC: Final = "mcp-guard"


class EngineError(RuntimeError):
    """An engine could not do the work: it can't be reached, its workers died, or they are not fit for it."""


class EngineUnreachableError(EngineError, ConnectionError):
    """The engine can't be reached. Nothing was done."""


class Engine(Protocol):
    """What shares work among processes."""

    def sum(self, work: Callable[[ItemT], SumT], items: Sequence[ItemT], done: Done | None = None) -> SumT | None:
        """The sum, by ``+``, of what `work` gives for each item; `None` where there are none.

        Raises:
            EngineError: The engine failed. What `work` raises is raised as it is.
        """
        ...


@final
@dataclass(frozen=True, slots=True)
class Local:
    """Processes of this machine. Where there is one item, or one process, it is done in this one.

    A program that uses more has to start under ``if __name__ == "__main__":``, as with `multiprocessing`: each new
    process reads it anew.

    Raises:
        ValueError: `processes` is smaller than 1.
    """

    processes: int | None = None
    """`None`: one for each core that this process may use."""

    def __post_init__(self) -> None:
        if self.processes is not None and self.processes < 1:
            raise ValueError(f"processes is at least 1, not {self.processes}")

    def sum(self, work: Callable[[ItemT], SumT], items: Sequence[ItemT], done: Done | None = None) -> SumT | None:
        """See `Engine`."""
        processes = min(len(items), self.processes or _cores())
        total: Any = None
        for index, part in enumerate(map(work, items)) if processes <= 1 else _in_processes(work, items, processes):
            total = part if total is None else total + part
            if done is not None:
                done(index)
        summed: SumT | None = total
        return summed


def _cores() -> int:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


_WORK: list[Callable[[Any], Any]] = []


def _begin(work: Callable[[Any], Any]) -> None:
    _WORK[:] = [work]


def _do(item: Any) -> Any:
    (work,) = _WORK
    return work(item)


def _in_processes(work: Callable[[ItemT], SumT], items: Sequence[ItemT], processes: int) -> Any:
    pool = ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_begin, initargs=(work,))
    try:
        under_way: dict[Future[SumT], int] = {}
        for index, item in enumerate(items):
            under_way[pool.submit(_do, item)] = index
            if len(under_way) >= 2 * processes:
                yield from _finished(under_way)
        while under_way:
            yield from _finished(under_way)
    except BrokenExecutor as error:
        raise EngineError("a process that shared the work died, perhaps for want of memory") from error
    finally:
        pool.shutdown(cancel_futures=True)


def _finished(under_way: dict[Future[SumT], int]) -> list[tuple[int, SumT]]:
    return [(under_way.pop(future), future.result()) for future in wait(under_way, return_when=FIRST_COMPLETED).done]


@final
@dataclass(frozen=True, slots=True)
class Dask:
    """A Dask cluster: scheduler and workers have the same version of this package, and reach the input themselves.

    The items are a `dask.bag`, a partition each, and are added up in a tree. A worker that dies is Dask's to start
    again (its nanny does), and what it had under way to give to another.
    """

    to: str | Client
    """The scheduler's address, such as ``tcp://10.0.0.1:8786``, or a client that is connected."""
    timeout: float = 5.0
    """Seconds for the connection."""
    told: Callable[[str], None] | None = None
    """Told the address of the cluster's own dashboard, where it has one."""

    def sum(self, work: Callable[[ItemT], SumT], items: Sequence[ItemT], done: Done | None = None) -> SumT | None:
        """See `Engine`.

        Raises:
            EngineUnreachableError: There is no scheduler at the address, or it does not answer in time.
            EngineError: The scheduler was lost, or an item was the death of several workers.
            ImportError: Dask is not installed: the extra ``[dask]``.
        """
        if not items:
            return None
        client = self._client()
        try:
            if self.told is not None and client.dashboard_link:
                self.told(client.dashboard_link)
            return _on_cluster(client, work, items, done)
        finally:
            if client is not self.to:
                client.close(timeout=self.timeout)

    def _client(self) -> Any:  # a `Client`, whose methods are not typed
        if not isinstance(self.to, str):
            return self.to
        distributed = import_module("distributed")
        try:
            # a client has no patience of its own with a port that takes the connection and says nothing
            with ThreadPoolExecutor(1) as thread:  # there may be an event loop in this one
                thread.submit(asyncio.run, _greet(self.to, self.timeout)).result()
            return distributed.Client(self.to, timeout=self.timeout, set_as_default=False)
        except Exception as error:  # whatever is at a wrong address may answer anything
            shown = _words.line(self.to)
            raise EngineUnreachableError(f"the scheduler {shown} can't be reached: {type(error).__name__}") from error


async def _greet(address: str, timeout: float) -> None:
    """Connect to a scheduler, and leave."""
    security = import_module("distributed.security").Security()
    connect = import_module("distributed.comm").connect
    greeting = connect(address, timeout=timeout, **security.get_connection_args("client"))
    (await asyncio.wait_for(greeting, timeout)).abort()


def _on_cluster(client: Any, work: Callable[[ItemT], SumT], items: Sequence[ItemT], done: Done | None) -> SumT | None:
    dask_bag, distributed = import_module("dask.bag"), import_module("distributed")
    run = uuid4().hex
    # a node of its own: what `work` holds is sent to each worker once, and not with each item
    held = import_module("dask.delayed").delayed(work, pure=False, traverse=False)
    bag = dask_bag.from_sequence(list(enumerate(items)), npartitions=len(items)).map(_at_worker, work=held, run=run)
    summed = bag.reduction(_sum, _sum, split_every=_AT_ONCE)
    ended: SimpleQueue[int | None] = SimpleQueue()

    def hear(event: tuple[float, tuple[str, int]]) -> None:
        _, (of, index) = event
        if of == run:  # others may use the same cluster
            ended.put(index)

    def finish(_: object) -> None:
        ended.put(None)

    client.subscribe_topic(_TOPIC, hear)
    try:
        future = client.compute(summed)
        future.add_done_callback(finish)
        while (index := _next(ended, client)) is not None:
            if done is not None:
                done(index)
        total: SumT = future.result()
    except distributed.KilledWorker as error:
        raise EngineError("the same part of the work was the death of several workers, see their logs") from error
    except (distributed.CancelledError, import_module("distributed.comm").CommClosedError) as error:
        raise EngineError("the scheduler was lost while the work was under way") from error
    finally:
        client.unsubscribe_topic(_TOPIC)
    return total


def _next(ended: SimpleQueue[int | None], client: Any) -> int | None:
    """The item that is done next; `None` where all are.

    Raises:
        EngineError: The client gave its scheduler up, so that nothing more will be heard.
    """
    while True:
        try:
            return ended.get(timeout=_LOOK)
        except Empty:  # noqa: PERF203  # it has waited a second by then
            if client.status == "closed":
                raise EngineError("the scheduler was lost while the work was under way") from None


def _at_worker(numbered: tuple[int, Any], *, work: Callable[[Any], Any], run: str) -> Any:
    index, item = numbered
    part = work(item)
    import_module("distributed").get_worker().log_event(_TOPIC, (run, index))
    return part


def _sum(parts: Any) -> Any:
    return reduce(operator.add, parts)
