"""The agency's signature: with its key, nothing holds that it did not sign."""

import builtins
import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import typer

from hedgerow.api.release import Release
from hedgerow.cli import release as command
from hedgerow.errors import JobError, MissingExtra, VerifyFailed
from hedgerow.release.bundle import BundleReader
from hedgerow.release.manifest import SIGNATURE
from hedgerow.release.signature import create_key, sign, signed_by
from hedgerow.release.verify import SIGNED, verify
from tests.unit.release.tampering import failed, only, rehash


@pytest.fixture
def key(tmp_path: Path) -> Path:
    create_key(tmp_path / "agency.key")
    return tmp_path / "agency.key"


def public(key: Path) -> Path:
    return key.with_name(key.name + ".pub")


def held(folder: Path, key: Path) -> tuple[bool | None, str]:
    (found,) = [c for c in verify(folder, key=public(key)) if c.name == SIGNED]
    return found.held, found.detail


@only("pure")
def test_a_signed_release_holds_with_the_key_and_without_it(forged: Path, key: Path) -> None:
    sign(forged, key)
    assert held(forged, key)[0]
    assert not failed(forged)
    assert "signed" in next(c.detail for c in verify(forged))


@only("pure")
def test_an_unsigned_or_changed_release_or_one_of_another_key_does_not_hold(
    forged: Path, key: Path, tmp_path: Path
) -> None:
    found, detail = held(forged, key)
    assert found is False and "not signed" in detail
    sign(forged, key)
    (forged / "report.html").write_text("made up")
    rehash_but_signature(forged)
    assert held(forged, key)[0] is False
    create_key(tmp_path / "other.key")
    sign(forged, tmp_path / "other.key")
    assert held(forged, key)[0] is False
    assert held(forged, tmp_path / "other.key")[0]


def rehash_but_signature(folder: Path) -> None:
    kept = (folder / SIGNATURE).read_bytes()
    (folder / SIGNATURE).unlink()
    rehash(folder)
    (folder / SIGNATURE).write_bytes(kept)


@only("pure")
def test_a_signature_is_64_bytes_and_hides_nothing_else(forged: Path, key: Path) -> None:
    sign(forged, key)
    (forged / SIGNATURE).write_bytes((forged / SIGNATURE).read_bytes() + b"confidential")
    assert "64 bytes" in failed(forged)["files are those of the manifest"]


@pytest.mark.confined
@only("pure")
def test_the_command_makes_keys_signs_and_verifies(
    forged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key = tmp_path / "new.key"
    command.sign(forged, key, new_key=True)
    assert "keep it secret" in capsys.readouterr().out
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    with pytest.raises(JobError, match="no key is ever overwritten"):
        command.sign(forged, key, new_key=True)
    command.sign(forged, key)
    with pytest.raises(typer.Exit) as left:
        command.verify(forged, key=public(key))
    assert left.value.exit_code == 7  # made by hand: its records cannot be drawn again
    assert f"ok     {SIGNED}" in capsys.readouterr().out
    (forged / SIGNATURE).unlink()
    with pytest.raises(typer.Exit) as left:
        command.verify(forged, key=public(key))
    assert left.value.exit_code == 6


@only("pure")
def test_the_command_signs_nothing_that_does_not_hold(forged: Path, tmp_path: Path) -> None:
    key = tmp_path / "new.key"
    (forged / "report.html").write_text("made up")
    rehash(forged)
    with pytest.raises(VerifyFailed, match=r"does not hold, so it is not signed:\n- pages say .*report\.html"):
        command.sign(forged, key, new_key=True)
    assert not (forged / SIGNATURE).exists() and not key.exists()


@only("pure")
def test_what_could_not_be_checked_is_signed_and_said(
    forged: Path, key: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.sign(forged, key)
    said = capsys.readouterr().out
    assert said.startswith("NOT CHECKED records were drawn from the answers") and "Signed" in said


@only("pure")
def test_what_was_not_signed_is_not_called_signed(
    forged: Path, key: Path, capsys: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """With a bad key nothing is said of what could not be checked: there is nothing it was signed with."""
    (bad := key.with_name("bad.key")).write_text("no key")
    bad.chmod(0o600)
    with pytest.raises(JobError, match="not an Ed25519 private key"):
        command.sign(forged, bad)
    with pytest.raises(JobError, match="not an Ed25519 private key"):
        Release.read(forged).sign(bad)
    assert capsys.readouterr().out == "" and not [w for w in recwarn if "Signed" in str(w.message)]
    with pytest.warns(UserWarning, match="Signed, but not all was checked"):
        Release.read(forged).sign(key)


def test_a_key_that_others_can_read_or_that_is_none_is_refused(honest: Path, key: Path, tmp_path: Path) -> None:
    key.chmod(0o644)
    with pytest.raises(JobError, match="chmod 600"):
        sign(honest, key)
    key.chmod(0o600)
    (tmp_path / "no.key").write_text("no key")
    (tmp_path / "no.key").chmod(0o600)
    with pytest.raises(JobError, match="not an Ed25519 private key"):
        sign(honest, tmp_path / "no.key")
    with pytest.raises(JobError, match="not an Ed25519 private key"):
        public(key).chmod(0o600)
        sign(honest, public(key))
    with pytest.raises(JobError, match="not the public half"):
        verify(honest, key=key)
    with pytest.raises(JobError, match="no readable key"):
        verify(honest, key=tmp_path / "nowhere")
    with pytest.raises(JobError, match="make the key: add --new-key"):
        sign(honest, tmp_path / "nowhere")
    with pytest.raises(JobError, match="no release"):
        sign(tmp_path, key)


def test_without_the_library_there_is_a_hint(honest: Path, key: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = builtins.__import__

    def without(name: str, *more: Any, **rest: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return known(name, *more, **rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match=r"hedgerow\[sign\]"):
        sign(honest, key)
    with pytest.raises(MissingExtra, match=r"hedgerow\[sign\]"):
        verify(honest, key=public(key))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
@only("pure")
def test_openssl_makes_the_keys_and_checks_the_signature_as_well(forged: Path, tmp_path: Path) -> None:
    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    openssl("genpkey", "-algorithm", "ed25519", "-out", "own.key")
    openssl("pkey", "-in", "own.key", "-pubout", "-out", "own.key.pub")
    os.chmod(tmp_path / "own.key", 0o600)
    signature = sign(forged, tmp_path / "own.key")
    openssl(
        *("pkeyutl", "-verify", "-pubin", "-inkey", "own.key.pub", "-rawin"),
        *("-in", str(forged / "MANIFEST.json"), "-sigfile", str(signature)),
    )
    assert signed_by(BundleReader(forged), tmp_path / "own.key.pub")
    signature.write_bytes(bytes(64))
    with pytest.raises(VerifyFailed):
        signed_by(BundleReader(forged), tmp_path / "own.key.pub")
