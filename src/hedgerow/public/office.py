"""The ledger of an office: set once, used by every job and command that names no other."""

import os
from pathlib import Path

VARIABLE = "HEDGEROW_LEDGER"


def default_ledger() -> str:
    """The address of the office's ledger: of the environment variable, else as ``use_ledger`` set it; or none."""
    if named := os.environ.get(VARIABLE, "").strip():
        return named if "://" in named else str(Path(named).expanduser().resolve())
    try:
        return _setting().read_text("utf-8").strip()
    except (OSError, ValueError, RuntimeError):  # without a home there is no setting
        return ""


def use_ledger(url: str) -> tuple[str, Path]:
    """Make ``url`` the ledger of whoever is at work here, from now on; its full address, and where that is kept."""
    place, whole = _setting(), url if "://" in url else str(Path(url).expanduser().resolve())
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(whole + "\n", "utf-8")
    place.chmod(0o600)  # an address may hold a password
    return whole, place


def _setting() -> Path:
    home = os.environ.get("XDG_CONFIG_HOME") or (os.environ.get("APPDATA") if os.name == "nt" else None)
    return (Path(home) if home else Path.home() / ".config") / "hedgerow" / "ledger"
