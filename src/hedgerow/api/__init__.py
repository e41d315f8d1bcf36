"""API: the two nouns for users, ``Job`` and ``Release``. Each verb is what the command of that name calls."""
