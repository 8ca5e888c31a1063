"""Transports for other libraries, and theirs as transports; each is imported where it is used."""

__all__ = ()
