"""The signature of a release: an Ed25519 key of the agency's, over the bytes of the manifest.

The manifest has the hash of every other file, so who signs it signs all of them.  ``MANIFEST.sig`` holds the 64 bytes
of the signature and nothing else, and keys are PEM files: OpenSSL makes and checks both as well.
"""

import os
import stat
from functools import partial
from pathlib import Path
from typing import Any

from hedgerow.errors import JobError, MissingExtra, VerifyFailed
from hedgerow.release import manifest
from hedgerow.release.bundle import BundleReader, written
from hedgerow.release.manifest import SIGNATURE, open_plain, write_whole

_LONGEST = 1 << 16
_NOTHING = "Nothing was signed; nothing confidential was read or spent."


def create_key(path: Path) -> Path:
    """A new private key at ``path``, for its owner's eyes only, and the public key beside it, which is returned."""
    serialization, ed25519 = _library()
    public = path.with_name(path.name + ".pub")
    if there := [p for p in (path, public) if p.exists() or p.is_symlink()]:
        raise JobError(f"{there[0]} exists already, and no key is ever overwritten. Name another file. {_NOTHING}")
    key = ed25519.Ed25519PrivateKey.generate()
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secret)
        public.write_bytes(shown)
    except OSError as wrong:
        raise JobError(f"Cannot write the key {path}: {wrong.strerror}. Name another file. {_NOTHING}") from None
    return public


def sign(folder: Path, key: Path) -> Path:
    """Sign the manifest of a release or a choice, whatever it says; the signature's file, an older one replaced."""
    secret, bundle = _private(key), BundleReader(folder)
    if manifest.NAME not in bundle.names:
        raise JobError(f"There is no release in {folder}: it has no {manifest.NAME}. {_NOTHING}")
    signature = secret.sign(bundle.text(manifest.NAME).encode())
    write_whole(folder / SIGNATURE, partial(written, signature))
    return folder / SIGNATURE


def signed_by(bundle: BundleReader, key: Path) -> str:
    """The manifest is signed by the owner of the public key in the file ``key``."""
    from cryptography.exceptions import InvalidSignature

    public = public_key(key)
    if SIGNATURE not in bundle.names:
        raise VerifyFailed(f"It is not signed: there is no {SIGNATURE}. Anyone can have made it.")
    try:
        public.verify(bundle.data(SIGNATURE), bundle.text(manifest.NAME).encode())
    except InvalidSignature:
        raise VerifyFailed(
            f"{SIGNATURE} is not a signature of this manifest by the key in {key.name}: another key made it, or the "
            "manifest was changed since."
        ) from None
    return f"{SIGNATURE} is of this manifest, by the key in {key.name}"


def public_key(path: Path) -> Any:
    """The public key in a PEM file."""
    serialization, ed25519 = _library()
    data = _bytes(path)
    try:
        key = serialization.load_pem_public_key(data)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise JobError(
            f"{path} is not the public half of an Ed25519 key as a PEM file. Ask the agency for it. OpenSSL gives\n"
            "it: openssl pkey -in agency.key -pubout -out agency.key.pub. Nothing was checked, read or spent."
        )
    return key


def _private(path: Path) -> Any:
    serialization, ed25519 = _library()
    data = _bytes(path, new=True)
    if os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise JobError(
            f"Others on this machine can read the private key {path}: its owner alone should.\n"
            f"Type: chmod 600 {path}, or make a new key if somebody may have copied it. {_NOTHING}"
        )
    try:
        key = serialization.load_pem_private_key(data, password=None)
    except TypeError:
        raise JobError(f"The key {path} has a password. Sign with one that has none. {_NOTHING}") from None
    except ValueError:
        key = None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise JobError(
            f"{path} is not an Ed25519 private key as a PEM file. Make one: hedgerow sign DIR --key KEY --new-key\n"
            f"(or openssl genpkey -algorithm ed25519 -out agency.key). {_NOTHING}"
        )
    return key


def _bytes(path: Path, *, new: bool = False) -> bytes:
    try:
        with open_plain(path) as file:
            return file.read(_LONGEST)
    except OSError:
        way = f"Check the path{', or make the key: add --new-key' if new else ''}."
        raise JobError(f"There is no readable key file {path}. {way} {_NOTHING}") from None


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtra(needed_for="A signature", extra="sign") from None
    return serialization, ed25519
