"""DPSyn: the method of the NIST temporal map challenge, by group."""
