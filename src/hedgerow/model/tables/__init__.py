"""Tables of counts: noisy ones shrunk, smoothed, made possible and made to agree; and those that are published."""
