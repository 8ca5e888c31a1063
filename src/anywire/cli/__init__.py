"""The `anywire` command: argument parsing and presentation only, one module a subcommand."""

__all__ = ()
