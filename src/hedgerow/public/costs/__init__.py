"""Costs: what may be asked, what it costs, with which noise, and the statement that says so. All of it is public.

question.py     questions, noise and noisy answers, as data
accounting.py   the promise, sensitivities, prices
spend.py        a request, priced
noise_laws.py   the mathematics of each law of noise
statement.py    what a release publishes of all this

Further mechanisms have their public half in urn.py, claim.py and stopping.py, which only those who use them import.
The gate imports the first three by themselves: they, and not this door, are on the auditor's list.
"""

from hedgerow.public.costs.accounting import Budget as Budget
from hedgerow.public.costs.accounting import Guarantee as Guarantee
from hedgerow.public.costs.accounting import Measure as Measure
from hedgerow.public.costs.accounting import Relation as Relation
from hedgerow.public.costs.accounting import epsilon_of as epsilon_of
from hedgerow.public.costs.accounting import floor_sqrt as floor_sqrt
from hedgerow.public.costs.accounting import noise_for as noise_for
from hedgerow.public.costs.accounting import selection_rate as selection_rate
from hedgerow.public.costs.noise_laws import LAWS as LAWS
from hedgerow.public.costs.noise_laws import Laplace as Laplace
from hedgerow.public.costs.noise_laws import NoiseLaw as NoiseLaw
from hedgerow.public.costs.noise_laws import decimal as decimal
from hedgerow.public.costs.noise_laws import law_of as law_of
from hedgerow.public.costs.question import TOTAL as TOTAL
from hedgerow.public.costs.question import Counts as Counts
from hedgerow.public.costs.question import Law as Law
from hedgerow.public.costs.question import Marginal as Marginal
from hedgerow.public.costs.question import Measurement as Measurement
from hedgerow.public.costs.question import Noise as Noise
from hedgerow.public.costs.question import Shares as Shares
from hedgerow.public.costs.question import Tree as Tree
from hedgerow.public.costs.spend import PricedQuestion as PricedQuestion
from hedgerow.public.costs.spend import Spend as Spend
from hedgerow.public.costs.spend import Tariff as Tariff
from hedgerow.public.costs.statement import PublicInput as PublicInput
from hedgerow.public.costs.statement import Statement as Statement
from hedgerow.public.costs.statement import question_from_json as question_from_json
from hedgerow.public.costs.statement import question_to_json as question_to_json
from hedgerow.public.costs.statement import spend_from_json as spend_from_json
from hedgerow.public.costs.statement import spend_to_json as spend_to_json
