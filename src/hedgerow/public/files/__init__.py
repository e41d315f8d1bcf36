"""Files: tables of many formats as streams of batches."""
