"""One era before a server of the other, as transports: the shells of `anywire.protocol.translate`."""

__all__ = ()
