"""Encryption at rest: which log dirs are encrypted, and who holds the keys."""

from tidelog.base.config.setting import Importance, Kind, Setting, Unit

SETTINGS = (
    Setting(
        "log.dirs.encryption",
        Kind.LIST,
        (),
        "Log dirs whose files are encrypted, as paths out of `log.dirs`, or `all`. Existing files stay "
        "readable; each is encrypted before its next change, or at once by `tidelog log encrypt`.",
        special="empty: none",
        importance=Importance.HIGH,
        ours=True,
    ),
    Setting(
        "log.dirs.encryption.key.file",
        Kind.STRING,
        None,
        "A file of key encryption keys, made by `tidelog log new-key`, which only its owner may read. Its "
        "first key wraps the data keys; the others are for data keys that were wrapped before.",
        special="not set: no key file",
        importance=Importance.HIGH,
        ours=True,
    ),
    Setting(
        "log.dirs.encryption.kms.command",
        Kind.STRING,
        None,
        "In place of a key file: a command that wraps and unwraps data keys. It gets one JSON document on "
        "its standard input and answers with one; see the page on encryption.",
        special="not set: no command",
        ours=True,
    ),
    Setting(
        "log.dirs.encryption.kms.class",
        Kind.STRING,
        None,
        "In place of a key file: `module:name` of a Python class or function that returns an object with "
        "`wrap(key)` and `unwrap(kek_id, wrapped)`; see the page on encryption.",
        special="not set: no class",
        ours=True,
    ),
    Setting(
        "log.dirs.encryption.kms.timeout.ms",
        Kind.INT,
        10_000,
        "How long one call of `log.dirs.encryption.kms.command` may take.",
        minimum=1,
        unit=Unit.MILLISECONDS,
        ours=True,
    ),
)
