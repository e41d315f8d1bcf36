"""Everything Hedgerow raises on purpose.

* HedgerowError            exit
  + JobError                2   the job file, the command or a setting is wrong
    - SchemaError           2   the schema file is wrong
    - MissingExtra          2   an optional library is not installed
  + TableMismatch           3   a public table, or the header of a confidential one, does not fit
  + Refused                 4   the request would break the promise or the budget
    - BudgetExhausted       4   it costs more than is left (``ledger/book.py``)
    - LedgerError           4   the ledger cannot be written, read or trusted
  + VerifyFailed            6   a bundle or a ledger does not hold

Exit codes 5, a use expected to be missed, and 7, a bundle that was not checked in full, are raised by nothing.

A message says what was asked, what is allowed, what to type next, and whether a confidential row was
read or any budget spent.  It quotes public facts only, never a value from a confidential row.
"""

from typing import ClassVar

NOTHING = "No confidential row was read and nothing was spent."  # how most refusals end


class HedgerowError(Exception):
    """Base of every error raised on purpose."""

    exit_code: ClassVar[int] = 1


class JobError(HedgerowError, ValueError):
    """The job file, the command or a setting is wrong."""

    exit_code = 2


class SchemaError(JobError):
    """The schema file is wrong."""


class MissingExtra(JobError):
    """An optional library is not installed."""

    def __init__(self, *, needed_for: str, extra: str) -> None:
        super().__init__(f"{needed_for} needs an optional library. Type: pip install 'hedgerow[{extra}]'")


class TableMismatch(HedgerowError):
    """A public table, or the header of a confidential one, does not fit the schema."""

    exit_code = 3


class Refused(HedgerowError):
    """The request would break the promise or the budget."""

    exit_code = 4


class LedgerError(Refused):
    """The ledger cannot be written, read or trusted."""


class VerifyFailed(HedgerowError):
    """A bundle or a ledger does not hold."""

    exit_code = 6
