"""The journal of a run: every noisy answer on disk the moment it exists, so that a crash wastes nothing."""

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hedgerow.answers import Reply
from hedgerow.errors import JobError
from hedgerow.public import Measurement, question_from_json, question_to_json, spend_from_json, spend_to_json
from hedgerow.release import measurements


@dataclass(frozen=True)
class Journal:
    """A folder beside the release to come. It holds noisy answers only, so it is as public as the release."""

    folder: Path

    @property
    def exists(self) -> bool:
        """Whether an unfinished run stands here."""
        return (self.folder / "run.json").exists()

    def start(self, run: str, job: str) -> None:
        """Begin: the run's name in the ledger, and the hash of the job and its public inputs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.exists:  # answers of another run, whose clearing away was cut short, are not ours
            self._forget_answers()
        write_text(self.folder / "run.json", json.dumps({"run": run, "job": job}) + "\n")

    def resume(self, job: str) -> str:
        """The name of the run that was begun here, if it was begun by the same job."""
        try:
            begun = json.loads((self.folder / "run.json").read_text("utf-8"))
            run, begun_by = str(begun["run"]), str(begun["job"])
        except (OSError, ValueError, KeyError, TypeError):
            raise JobError(
                f"There is no run to resume in {self.folder}. Start one without --resume.\n"
                "No confidential row was read and nothing was spent."
            ) from None
        if begun_by != job:
            raise JobError(
                f"The run in {self.folder} was begun with another job file, schema or public table.\n"
                "Restore them to resume at no cost, or delete that folder to start anew at full cost.\n"
                "No confidential row was read and nothing was spent."
            )
        return run

    def keep(self, position: int, answered: Reply) -> None:
        """Write one answer; it is durable when this returns."""
        stem = self.folder / f"answer-{position:05d}"
        if answered.measurements:
            measurements.save(stem.with_suffix(".parquet"), [(position, m) for m in answered.measurements])
        chosen = None if answered.chosen is None else question_to_json(answered.chosen)
        write_text(
            stem.with_suffix(".json"),
            json.dumps({"spend": spend_to_json(answered.spend), "chosen": chosen}) + "\n",
        )

    def answers(self) -> list[Reply]:
        """Every answer kept so far, in order."""
        kept: list[Reply] = []
        try:
            for file in sorted(self.folder.glob("answer-*.json")) if self.exists else ():
                data = json.loads(file.read_text("utf-8"))
                tables = file.with_suffix(".parquet")
                found = tuple(m for _, m in measurements.load(tables)) if tables.exists() else ()
                chosen = None if data["chosen"] is None else question_from_json(data["chosen"])
                kept.append(Reply(spend_from_json(data["spend"]), found, chosen))
        except (OSError, ValueError, KeyError, TypeError):
            raise JobError(
                f"The answers kept in {self.folder} are damaged. Put back a copy of that folder, or delete it to\n"
                "start anew at full cost. No confidential row was read and nothing was spent."
            ) from None
        return kept

    def finish(self) -> None:
        """The release stands: the journal is no longer needed."""
        self._forget_answers()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _forget_answers(self) -> None:
        for file in sorted(self.folder.glob("answer-*")):
            file.unlink(missing_ok=True)


def flatten(record: Sequence[Reply]) -> tuple[tuple[int, Measurement], ...]:
    """The measured tables of a record, each with the position of its request."""
    return tuple((i, m) for i, a in enumerate(record) for m in a.measurements)


def write_text(path: Path, text: str) -> None:
    """Write all of ``text`` or nothing, and have it on the disk before returning."""
    part = path.with_name(path.name + ".part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
