"""A certificate authority of the tests, and its certificates for servers."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

if TYPE_CHECKING:
    from pathlib import Path

DAY = timedelta(days=1)
LOOPBACK = "127.0.0.1"


class Certificate(NamedTuple):
    """The files of a server's certificate and private key."""

    chain: Path
    key: Path


class Authority:
    """Signs certificates; ``path`` is its own certificate, which clients trust."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(self._name, self._key.public_key())
            .issuer_name(self._name)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.path = directory / f"{name}.pem"
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, host: str | None = None, *, expired: bool = False) -> Certificate:
        """Return a certificate for a host name, by default for the loopback address."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(host)] if host else [x509.IPAddress(ip_address(LOOPBACK)), x509.DNSName("localhost")]
        until = datetime.now(timezone.utc) - DAY if expired else None
        certificate = (
            _builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key.public_key(), until)
            .issuer_name(self._name)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        files = Certificate(self._directory / f"{name}.crt", self._directory / f"{name}.key")
        files.chain.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return files


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, until: datetime | None = None
) -> x509.CertificateBuilder:
    end = until or datetime.now(timezone.utc) + DAY
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(end - 3 * DAY)
        .not_valid_after(end)
    )
