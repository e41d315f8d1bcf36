"""Private: the one gate. The only code that sees confidential rows or draws noise."""
