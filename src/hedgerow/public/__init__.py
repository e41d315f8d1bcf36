"""Public: what anyone may know. Schema, coding, questions, noisy answers, and what they cost."""

from hedgerow.public.aggregates import ask_for_counts, expanded, expanded_public, looks_aggregated
from hedgerow.public.career_tables import (
    Window,
    career_codes,
    career_coding,
    career_time,
    first_names,
    first_schema,
    first_table,
    in_order,
    owners,
    seen_through,
    start_schema,
    start_table,
    step_rows,
)
from hedgerow.public.careers import FIRST, GAP, MOVE, SPAN, CareerCoding, asked_of
from hedgerow.public.coding import CodedColumn, Codes, Coding, JoinedColumn, as_text, code_type, person_cap, records
from hedgerow.public.costs.accounting import (
    Budget,
    Guarantee,
    Measure,
    Relation,
    epsilon_of,
    floor_sqrt,
    noise_for,
    priced,
    rho_for,
    selection_rate,
)
from hedgerow.public.costs.claim import Claim
from hedgerow.public.costs.composition import Cap, Promised
from hedgerow.public.costs.gaussian import budget_for, budget_of, epsilon_in
from hedgerow.public.costs.noise_laws import LAWS, Laplace, NoiseLaw, decimal, law_of
from hedgerow.public.costs.question import TOTAL, Counts, Law, Marginal, Measurement, Noise, Tree
from hedgerow.public.costs.spend import PricedQuestion, Spend, Tariff
from hedgerow.public.costs.statement import (
    PublicInput,
    Statement,
    fraction_of,
    question_from_json,
    question_to_json,
    spend_from_json,
    spend_to_json,
)
from hedgerow.public.costs.stopping import Choice, Stopping
from hedgerow.public.costs.urn import Urn, exp_floor, price_urn, row_epsilon, rows_cross
from hedgerow.public.files import OPENERS, Source, open_source
from hedgerow.public.formula import Formula, Term, make_claim
from hedgerow.public.frames import must_be_here, open_public
from hedgerow.public.office import default_ledger
from hedgerow.public.people import Fact, PeopleCoding, people_facts
from hedgerow.public.people_tables import coding_of, people_schema, people_table
from hedgerow.public.pieces import PIECE, RecordFile, Table, file_hash, file_of, pieces, same_file, whole
from hedgerow.public.schema.check import nearest
from hedgerow.public.schema.column import BINNED, LISTED, MOST_OUTSIDE, Column, as_float
from hedgerow.public.schema.fit import ColumnFit, TableFit, placed, unknown_rule
from hedgerow.public.schema.records import (
    Flags,
    column_codes,
    decode,
    impossible,
    known_numbers,
    nearest_values,
    violations,
)
from hedgerow.public.schema.schema import Schema
from hedgerow.public.schema.structure import Condition, OrderRule, Zero
from hedgerow.public.servers import (
    POSTGRES_DAYS,
    as_brought,
    brought,
    brought_source,
    columns_at,
    has_text,
    is_address,
    is_spark,
    postgres_header,
    postgres_rows,
    quoted,
    shown_address,
    spark_columns,
    spark_files,
    spark_name,
    spark_remarks_off,
    spark_session,
    spark_table,
)
from hedgerow.public.table import (
    CodedTable,
    Floats,
    Places,
    PublicData,
    Role,
    Shares,
    Statistic,
    resolved_on,
    shares,
    total_variation,
    typed_as,
)
from hedgerow.public.toml import document, key_lines, line_of, place, read_toml
from hedgerow.public.views import duckdb_tables, open_confidential
from hedgerow.public.write import for_spreadsheets, formulas, line_ends, write_pieces, write_table
