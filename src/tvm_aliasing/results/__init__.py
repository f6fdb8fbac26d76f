"""Records, and the tables and figures made from them."""

from .record import Record

__all__ = ["Record"]
