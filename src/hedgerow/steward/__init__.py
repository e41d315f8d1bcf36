"""Steward: exact looks, for the steward's eyes only. Nothing here can be released."""
