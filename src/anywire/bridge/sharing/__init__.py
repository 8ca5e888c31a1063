"""Several clients on one server: which message is whose, and under which name."""

__all__ = ()
