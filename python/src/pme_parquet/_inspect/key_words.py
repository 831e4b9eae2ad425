"""Keys and AAD prefixes in words. They contain text from a file, so a screen gets them through `words.printable`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pme_parquet._inspect.inspected import InspectedFile, Key

# parquet-java writes this if no KMS is named.
_UNNAMED = {"", "DEFAULT", None}


def key_id(key: Key) -> str:
    """The key's name in a few words."""
    if key.management == "none":
        return "a key that the file does not name"
    if key.management == "unreadable":
        return "a key whose metadata cannot be used"
    version = f" version {key.master_key_version}" if key.master_key_version else ""
    return f"key '{key.master_key}'{version}"


def key_details(key: Key) -> str:
    """How to get the data key, to follow its name."""
    if key.management == "direct":
        return "named by the file as the data key itself"
    if key.management == "derived":
        return f"data key {_bits(key.data_key_bits)}, decrypted by the master key itself or by Hadoop KMS"
    if key.management != "envelope":
        return ""
    parts = [f"data key {_bits(key.data_key_bits)}"]
    if key.double_wrapping:
        parts.append(f"wrapped by key-encryption key {key.kek_id} ({_bits(key.kek_bits)}), which the master key wraps")
    else:
        parts.append("wrapped by the master key")
    parts.append("in the file" if key.material == "internal" else "in a separate file")
    if key.kms_instance_id not in _UNNAMED:
        parts.append(f"KMS '{key.kms_instance_id}'")
    if key.kms_instance_url not in _UNNAMED:
        parts.append(f"at '{key.kms_instance_url}'")
    return ", ".join(parts)


def aad_prefix(file: InspectedFile) -> str:
    """Whether there is a prefix, and which."""
    if file.aad_prefix == "stored":
        return f"in the file: {file.aad_prefix_value}"
    return {"required": "not in the file: readers must set it", "none": "none", None: ""}[file.aad_prefix]


def key_ids(file: InspectedFile) -> str:
    """The visible keys of the footer and of columns, and whether there is an AAD prefix."""
    if file.orc:
        return ", ".join(sorted({key_id(key) for key in file.column_keys}))
    if file.footer_key is None:
        return ""
    columns = ", ".join(sorted({key_id(key) for key in file.column_keys}))
    if not columns:
        columns = "not visible" if file.footer == "encrypted" else "no keys of their own"
    prefix = {"stored": "; AAD prefix in the file", "required": "; AAD prefix not in the file"}
    return f"footer: {key_id(file.footer_key)}; columns: {columns}{prefix.get(file.aad_prefix or '', '')}"


def short(key: Key) -> str:
    """The key's name, for places with little room."""
    return key.master_key or {"none": "not named", "unreadable": "not readable"}[key.management]


def _bits(bits: int | None) -> str:
    return "of unknown length" if bits is None else f"{bits} bits"
