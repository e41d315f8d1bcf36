"""Every test runs with the library's annotations checked at run time."""

from beartype import BeartypeConf
from beartype.claw import beartype_package
from hypothesis import settings

beartype_package("hedgerow", conf=BeartypeConf(is_pep484_tower=True))  # an int will do where a float is asked for
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
