"""Trees, random and grown; label shares corrected by noisy label counts; labels drawn for given rows."""
