"""Release: what leaves the building, and the check that it holds.

contents.py          what a bundle is made of, and its table files
bundle.py            the folder, written in one step, and read back trusted in nothing
measurements.py      the noisy answers on disk, also those of a run that is not finished: its journal
manifest.py          files that are there in full or not at all, their sizes and hashes
pages.py             every text file: report, privacy statement, data card
  words.py           the promise in plain words, and what else pages share
  commands.py        the commands that pages print, with the tables that they take
  figures.py         measured tables against synthetic ones, and the figures of the report
  package.py         the tables described: the codebook, and the same for other programs
rehearsal_folder.py  a rehearsal on disk, and its page
verify.py            the checks of a bundle, one by one; confined.py makes them in a process with bounds
  checks.py          costs, cells and sums worked out anew; files, job, tables and pages
  redraw.py          records drawn again from the answers, and whether the released ones are such
  signature.py       the agency's signature of the manifest
sampling.py          more copies, and replicates, from the answers
evidence.py          what a bundle knows of any figure, for estimates
choice.py            a choice of settings that was paid for: its statement, its folder as a bundle, its checks
"""

from hedgerow.release.bundle import BundleReader, write_bundle
from hedgerow.release.commands import replicates_warning
from hedgerow.release.confined import Verification, must_open, verify_confined
from hedgerow.release.contents import Contents, records_of_counts, write_one
from hedgerow.release.evidence import estimates_of, with_estimates
from hedgerow.release.figures import mostly_unknown
from hedgerow.release.measurements import flatten
from hedgerow.release.origin import given_columns, in_short
from hedgerow.release.redraw import Redrawing, findings_of, software
from hedgerow.release.sampling import replicates, sample
from hedgerow.release.signature import sign
