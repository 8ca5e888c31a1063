"""Several clients on one server, without I/O: which message is whose, and under which name."""

__all__ = ()
