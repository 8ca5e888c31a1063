"""What outlives a connection, as records that can be serialised; kept in memory here."""

__all__ = ()
