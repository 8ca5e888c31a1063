"""What a program lets a server ask, and what is declared of it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeAlias

from msgspec import UNSET, UnsetType, structs

from anywire.client.asked import Asked
from anywire.client.callback import Callback
from anywire.client.eliciting import Eliciting, OnElicit
from anywire.client.roots import Folders, Roots, RootsSource
from anywire.client.sampling import OnSample, Sampling
from anywire.errors import ConfigError
from anywire.protocol.types.initialize import (
    ClientCapabilities,
    ElicitationCapability,
    RootsCapability,
    SamplingCapability,
)
from anywire.session.threads import DaemonThreads
from anywire.wire.limits import Limits

__all__ = ("Answer", "Answers")

#: Makes the raw result of a request.
Answer: TypeAlias = Callable[[Asked], Coroutine[Any, Any, bytes]]


class Answers:
    """The functions that answer, by method, and the capabilities that follow from them.

    Raises `ConfigError` for what cannot answer, and for a capability that nothing stands behind.
    """

    def __init__(
        self,
        on_sample: OnSample | None,
        on_elicit: OnElicit | None,
        roots: RootsSource | None,
        capabilities: ClientCapabilities | None,
        limits: Limits,
    ) -> None:
        threads = DaemonThreads(limits.worker_threads)
        #: What the client says that it can do.
        self.capabilities = _declare(on_sample, on_elicit, roots, capabilities)
        table: dict[str, Answer] = {}
        sampling, elicitation = self.capabilities.sampling, self.capabilities.elicitation
        if on_sample is not None and not isinstance(sampling, UnsetType):
            callback = Callback(on_sample, "on_sample", 1, threads)
            table["sampling/createMessage"] = Sampling(callback, sampling).answer
        if on_elicit is not None and not isinstance(elicitation, UnsetType):
            callback = Callback(on_elicit, "on_elicit", 1, threads)
            table["elicitation/create"] = Eliciting(callback, elicitation).answer
        if callable(roots):
            table["roots/list"] = Roots(Callback(roots, "roots", 0, threads)).answer
        elif roots is not None:
            table["roots/list"] = Folders(roots).answer
        #: What answers a method.
        self.table: Mapping[str, Answer] = table


def _declare(
    on_sample: OnSample | None,
    on_elicit: OnElicit | None,
    roots: RootsSource | None,
    given: ClientCapabilities | None,
) -> ClientCapabilities:
    """Return what follows from the functions, with what is given in its place, member by member."""
    follows = ClientCapabilities(
        sampling=UNSET if on_sample is None else SamplingCapability(),
        elicitation=UNSET if on_elicit is None else ElicitationCapability(form={}, url={}),
        roots=UNSET if roots is None else RootsCapability(list_changed=True),
    )
    if given is None:
        return follows
    members = {name: getattr(given, name) for name in given.__struct_fields__}
    for name, function in (("sampling", "on_sample"), ("elicitation", "on_elicit"), ("roots", "roots")):
        if members[name] is not UNSET and getattr(follows, name) is UNSET:
            raise ConfigError(f"the capability {name!r} is declared, but there is no {function} behind it")
    return structs.replace(follows, **{name: each for name, each in members.items() if each is not UNSET})
