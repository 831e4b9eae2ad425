"""A key of the transit engine, ``aes256-gcm96``: ``vault:v<version>:`` and base64(nonce 12, ciphertext, tag 16)."""

from __future__ import annotations

import base64
import binascii
import os
import re
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.kms.answers import NOT_AUTHENTIC, TOO_OLD

NONCE_BYTES, TAG_BYTES = 12, 16
KEY_BITS = 256
PREFIX = "vault:v"
VERSION = re.compile(r"[0-9]+")


class TransitError(Exception):
    """An error of one item, in Vault's words."""


def new_version() -> bytes:
    return AESGCM.generate_key(KEY_BITS)


@dataclass
class TransitKey:
    """All versions of a key; the newest one encrypts."""

    versions: list[bytes] = field(default_factory=lambda: [new_version()])
    min_decryption_version: int = 1

    @property
    def latest(self) -> int:
        return len(self.versions)

    def rotate(self) -> None:
        self.versions.append(new_version())

    def encrypt(self, plaintext: str, associated_data: str = "") -> str:
        nonce = os.urandom(NONCE_BYTES)
        sealed = AESGCM(self.versions[-1]).encrypt(nonce, decoded(plaintext), decoded(associated_data))
        return f"{PREFIX}{self.latest}:{base64.b64encode(nonce + sealed).decode()}"

    def decrypt(self, ciphertext: str, associated_data: str = "") -> str:
        version, raw = self._split(ciphertext)
        cipher = AESGCM(self.versions[version - 1])
        try:
            plaintext = cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], decoded(associated_data))
        except InvalidTag as failed:
            raise TransitError(NOT_AUTHENTIC) from failed
        return base64.b64encode(plaintext).decode()

    def rewrap(self, ciphertext: str) -> str:
        return self.encrypt(self.decrypt(ciphertext))

    def _split(self, ciphertext: str) -> tuple[int, bytes]:
        if not ciphertext.startswith(PREFIX):
            raise TransitError("invalid ciphertext: no prefix")
        number, colon, text = ciphertext.removeprefix(PREFIX).partition(":")
        if not colon:
            raise TransitError("invalid ciphertext: wrong number of fields")
        if not VERSION.fullmatch(number):
            raise TransitError("invalid ciphertext: version number could not be decoded")
        # As in Vault: its first release counted from zero.
        version = int(number) or 1
        if version > self.latest:
            raise TransitError("invalid ciphertext: version is too new")
        if version < self.min_decryption_version:
            raise TransitError(TOO_OLD)
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error as failed:
            raise TransitError("invalid ciphertext: could not decode base64") from failed
        if len(raw) < NONCE_BYTES + TAG_BYTES:
            raise TransitError("invalid ciphertext length")
        return version, raw


def decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as failed:
        raise TransitError("illegal base64 data at input byte 0") from failed
