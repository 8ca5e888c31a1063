"""Requests that are answered later: the experimental tasks of one revision.

Specification: MCP `basic/utilities/tasks`, 2025-11-25.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from anywire.protocol.types.metadata import RequestParams, WithMeta
from anywire.protocol.types.reading import Item

__all__ = (
    "CreateTaskResult",
    "ListTasksResult",
    "RelatedTask",
    "Task",
    "TaskMetadata",
    "TaskParams",
    "TaskStatus",
)

#: How a task is getting on; the last three are final.
TaskStatus: TypeAlias = Literal["working", "input_required", "completed", "failed", "cancelled"]


class TaskMetadata(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """The member `task` of a request that is to become one; `ttl` is in milliseconds."""

    ttl: int | UnsetType = UNSET


class RelatedTask(msgspec.Struct, frozen=True, rename="camel"):
    """The value in `_meta` that says to which task a message belongs."""

    task_id: str


class Task(WithMeta, frozen=True):
    """A task; the result of `tasks/get` and `tasks/cancel`, and the params of `notifications/tasks/status`.

    `ttl` is in milliseconds, None for ever.
    """

    task_id: str
    status: TaskStatus
    created_at: str
    last_updated_at: str
    ttl: int | None
    poll_interval: int | UnsetType = UNSET
    status_message: str | UnsetType = UNSET


class TaskParams(RequestParams, frozen=True):
    """The params of `tasks/get`, `tasks/result` and `tasks/cancel`."""

    task_id: str


class CreateTaskResult(WithMeta, frozen=True):
    """The result of a request that has become a task."""

    task: Task


class ListTasksResult(WithMeta, frozen=True):
    """One page of tasks; each stays raw JSON until it is asked for."""

    tasks: Sequence[Item[Task]]
    next_cursor: str | UnsetType = UNSET
