"""Release: what leaves the building, and the check that it holds.

contents.py      what a bundle is made of
bundle.py        the folder, written in one step and read back
measurements.py  the noisy answers on disk
journal.py       the noisy answers of a run that is not finished
tables.py        records and counts as files
pages.py         every text file: report, codebook, privacy statement, data card
  words.py       the promise in plain words, and numbers as people read them
  story.py       sentences and rows that pages share
  report.py, sections.py, one_way_tables.py, joint_tables.py, figures.py   what the report shows
  codebook.py, package.py   the other pages
rehearsal_folder.py  a rehearsal on disk, and its page
manifest.py      sizes and hashes
disk.py          files that are there in full or not at all
verify.py        the checks of a bundle, one by one
  bundle_reader.py  a bundle as found, trusted in nothing
  arithmetic.py  costs, cells and sums worked out anew
  bundle_checks.py, domain.py   files, job, tables and pages
"""
