"""`python -m anywire`: the command."""

from anywire.cli.main import main

__all__ = ()

if __name__ == "__main__":
    raise SystemExit(main())
