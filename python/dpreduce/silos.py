"""Silos under an engine that brings messages from a server to them and back: Flower, NVFlare or your own.

    coordinator = dpreduce.silos.Coordinator(plan, "roster.toml", "hub.key", ledger="ledger.jsonl")       the server
    joins = [silo.join(coordinator.invitation) for silo in silos]                                         each silo, once
    while (request := coordinator.request(joins)) is not None:
        coordinator.step([silo.answer(request, X, y) for silo in silos])                                  each silo
    model = coordinator.result()

An answer is the exact statistic of a silo's rows, masked: words mod 2^64 that look random. Each two silos agree on masks,
under keys that they sign with the identities of the roster, and the masks cancel in the sum over all silos. So the server
learns of each task the exact sum over all silos, and of no silo its own. A server that breaks the rules, with some silos on
its side, learns the exact sum over the other silos, or nothing. The server adds the noise, and readers of model and ledger
learn what that lets through. The model is, byte for byte, the one that fit() makes of all rows.

With rows_per_person and silos_per_person in the plan the unit is a person: each silo gives whose its rows are
(answer(..., person=person)), and holds them to its part of their bound. No identifier leaves it.
"""
from __future__ import annotations

import logging
import os
import typing

from . import _library
from .arrays import as_persons
from .errors import AggregationAborted, Error, UsageError
from .fitting import FittedRun
from .plans import Plan

if typing.TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

_log = logging.getLogger(__name__)


def _plan_of(plan: Plan | str) -> Plan:
    return plan if isinstance(plan, Plan) else Plan.from_json(plan)


class Coordinator:
    """The server's end, in one process: it starts the plan's session, charges it, and adds the noise."""

    def __init__(self, plan: Plan | str, roster: str | os.PathLike[str], identity: str | os.PathLike[str],
                 ledger: str | os.PathLike[str] | None = None) -> None:
        """`plan` is a Plan, or the text that Plan.to_json wrote; `roster` names all parties, and `identity` is the key of the
        coordinator (`dpreduce keygen`). Throws UsageError, BadInput, BudgetRefused, LedgerCorrupt as Plan.start."""
        import dpreduce
        self._plan = _plan_of(plan)
        self._own = _library.core().MaskedCoordinator(self._plan._own, self._plan.to_json(), os.fspath(roster), os.fspath(identity))
        self._session: dpreduce.Session = self._plan.start(ledger)
        self._request: bytes | None = None

    @property
    def silos(self) -> int:
        """How many there are in the roster."""
        return self._own.silos

    @property
    def invitation(self) -> bytes:
        """Which each silo answers with its join."""
        return self._own.invitation()

    def request(self, joins: typing.Iterable[bytes]) -> bytes | None:
        """What all silos are to answer next; None when the fit has ended. Throws AggregationAborted naming a silo whose join
        is missing, there twice or not its own."""
        task = self._session.task
        self._request = None if task is None else self._own.request(task, list(joins))
        return self._request

    def step(self, answers: typing.Iterable[NDArray[np.uint64]]) -> None:
        """Takes the answers of all silos to the last request. Throws AggregationAborted where they do not add up, after which
        it still waits; else as Session.step."""
        import numpy as np
        task = self._session.task
        if self._request is None or task is None:
            raise UsageError("step: no request was made; make one with request()")
        total = None
        for answer in answers:
            words = np.asarray(answer)
            if words.dtype != np.uint64 or words.ndim != 1 or (total is not None and words.shape != total.shape):
                raise AggregationAborted("an answer is not a uint64 vector of the same length as the others; pass it on unchanged")
            if total is None:
                total = words.copy()
            else:
                total += words  # mod 2^64
        if total is None:
            raise UsageError("step: there are no answers")
        self._session.step(self._sum(task, total))

    def _sum(self, task, total):
        from .plans import PartialSum
        return PartialSum(self._own.opened(self._request, task, total))

    def result(self) -> FittedRun:
        """What the fit has made. Throws UsageError before it has ended."""
        return self._session.result()


class Silo:
    """A silo's end, in one process that lives from the join to the last answer: keys of masks are in its memory alone, so that
    no folder that is restored, and no other process, can mask two data sets alike. Made anew, it joins a new session.

    Its errors go to the log `dpreduce.silos`, in words that may show a row. What its methods raise is always the same Error, which
    says no more than that the silo has failed, since engines pass exceptions on to the server, with their class."""

    def __init__(self, plan: Plan | str, roster: str | os.PathLike[str], identity: str | os.PathLike[str]) -> None:
        """`plan`, the text that all parties have agreed on, and `roster` come from the silo's own files, never from the server.
        Throws UsageError and BadInput where they do not fit."""
        self._plan = _plan_of(plan)
        self._own = _library.core().MaskedSilo(self._plan._own, self._plan.to_json(), os.fspath(roster), os.fspath(identity))

    def join(self, invitation: bytes) -> bytes:
        """This silo's new key for the session, signed. The same whenever this Silo is asked for it. Throws Error unless the
        roster's coordinator has invited to the same plan."""
        return self._quietly(lambda: self._own.join(invitation))

    def answer(self, request: bytes, X: ArrayLike, y: ArrayLike, threads: int = 1, *,
               person: ArrayLike | None = None) -> NDArray[np.uint64]:
        """The masked statistic of all rows of this silo (n x d, and n labels, or n x m numbers). `person` says whose each row is, where the
        plan has rows_per_person. A step is answered once, or with the same words again. Throws Error
        if the coordinator of the roster did not sign the request, a join is not from its silo, or the step has another answer. Also
        if this Silo has not joined the session (another one did, or a process that has ended). Also if rows, labels or identifiers
        do not fit, or if identifiers are missing where the unit is a person, or the other way round."""
        def masked():
            persons = None if person is None else as_persons(person, "person")
            return self._own.answer(request, self._plan._rows(X), self._plan._labels(y, unlisted=-1), persons, threads)
        return self._quietly(masked)

    def end(self, message: bytes) -> None:
        """Destroys this silo's key of the session that an invitation or a request is of: nobody can take a mask off its answers
        any more."""
        self._quietly(lambda: self._own.end(message))

    @staticmethod
    def _quietly(work):
        try:
            return work()
        except Error as error:
            _log.error("%s", error)
        except Exception as error:  # in whatever words
            _log.error("%s: %s", type(error).__name__, error)
        raise Error("the silo could not answer; the reason is in its own log (dpreduce.silos)")  # outside of except: it has no context
