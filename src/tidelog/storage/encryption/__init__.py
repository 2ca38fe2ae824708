"""Encrypted files below the storage: an encrypting `Disk`, its layout of bytes, and its wrapped data keys."""
