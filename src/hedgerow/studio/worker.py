"""A process that carries out one command and notes how it ended: ``python -P -m hedgerow.studio.worker FOLDER``.

It outlives the server and every page.  Nothing but the standard library is loaded here: it waits.  The lock is held
by the command as well, so that it is let go of only when nobody is at work any more.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

PAUSE, AGAIN = 0.2, 5.0  # seconds between looks, and until a signal that a library has swallowed is sent again


def work(folder: Path) -> int:
    """Carry out the command of ``folder``; its exit code."""
    task = json.loads((folder / "task.json").read_text("utf-8"))
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    (folder / "begun").touch(0o600)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a server in the background may have it ignored
    with open(folder / "result", "wb") as result, open(folder / "said", "wb") as said:
        command = subprocess.Popen(
            [sys.executable, "-P", "-m", task.get("module", "hedgerow"), *task["words"]],
            cwd=task["at"],
            stdin=subprocess.DEVNULL,
            stdout=result if task["keep"] else subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, "HEDGEROW_PROGRESS": str(folder / "progress")},
            pass_fds=(lock,),
        )
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        pause = PAUSE
        while (code := _ended(command, pause)) is None:
            if (folder / "cancel").exists():
                command.send_signal(signal.SIGINT)
                pause = AGAIN
    if pause == AGAIN and code not in (0, 5, 6, 7):
        code = 130  # asked to stop it did, whatever the signal met on its way
    whole = folder / "code.new"
    whole.write_text(str(code), "utf-8")
    os.replace(whole, folder / "code")
    return code


def _ended(command: "subprocess.Popen[bytes]", pause: float) -> int | None:
    try:
        return command.wait(pause)
    except subprocess.TimeoutExpired:
        return None


if __name__ == "__main__":
    os.umask(0o077)
    sys.exit(work(Path(sys.argv[1])))
