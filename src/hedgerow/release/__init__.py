"""Release: what leaves the building, and the check that it holds.

contents.py          what a bundle is made of, and its table files
bundle.py            the folder, written in one step
bundle_reader.py     the folder, read back and trusted in nothing
journal.py           the noisy answers of a run that is not finished
measurements.py      the noisy answers on disk
manifest.py          files that are there in full or not at all, their sizes and hashes
pages.py             every text file: report, codebook, privacy statement, data card
  words.py           the promise in plain words, and what else pages share
  report.py          what the report shows;  measured_tables.py, figures.py: what stands in it
  package.py         the tables described for other programs
rehearsal_folder.py  a rehearsal on disk, and its page
verify.py            the checks of a bundle, one by one
  arithmetic.py      costs, cells and sums worked out anew
  bundle_checks.py   files, job, tables and pages
choice.py            a choice of settings that was paid for: its statement, its folder as a bundle, its checks
"""
