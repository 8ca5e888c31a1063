"""Streamable HTTP as decisions: what a request or a response means, without sending either."""

__all__ = ()
