"""A wrong schema file gets all its problems told at once, each with line, column and cure."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.public.schema import Schema
from hedgerow.public.toml import key_lines, line_of

BINS = '[columns.x]\nkind = "integer"\nbins = { low = 0, high = 100, width = 10 }\n'
SEX = '[columns.sex]\nkind = "categorical"\nvalues = ["F", "M"]\n'
AGE = '[columns.age]\nkind = "integer"\nbins = { low = 0, high = 99, width = 1 }\n'
X = "[columns.x]\n"
CLOSING = "in the schema. No confidential row was read and nothing was spent."


def problems_of(text: str) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        Schema.loads(text)
    *lines, last = str(caught.value).splitlines()
    assert last.endswith(CLOSING) and last.startswith(f"{len(lines)} problem")
    return [line.removeprefix("schema.toml:") for line in lines]


def test_all_problems_are_told_at_once_in_the_order_of_the_file() -> None:
    text = """title = 5
colunms = 1
[columns.sex]
kind = "categoric"
[columns.pay]
kind = "integer"
bins = { low = 0, high = 200000, width = -5 }
mising = true
[columns.region]
kind = "categorical"
values = [
  "north",
  "south",  # a comment with ] and "
  "north",
]
bins = { quantiles = 3 }
[columns."pay grade"]
missing = true
[[rule]]
left = "pay"
right = "agee"
[[zero]]
[[zero]]
where = { region = ["nrth"], pay = { below = "x" } }
"""
    assert problems_of(text) == [
        "1: title is 5; give a text in quotes.",
        "2: unknown key 'colunms'; did you mean 'columns'?",
        "4: column 'sex': unknown kind 'categoric'; did you mean 'categorical'?",
        "7: column 'pay': bins.width is -5; give a width above 0, such as width = 2000.",
        "8: column 'pay': unknown key 'mising'; did you mean 'missing'?",
        "11: column 'region': values names 'north' twice; remove one.",
        "16: column 'region': bins does not go with kind = \"categorical\"; "
        "remove it, or choose integer or real or date.",
        "17: column 'pay grade': kind is missing; choose one of categorical, ordered, integer, real, date, yes-no.",
        "21: rule 1: there is no column 'agee'; choose one of sex, pay, region, pay grade.",
        "22: zero 1: where is missing; add where = ...",
        "24: zero 2: where.pay.below is 'x'; give a number, or a date such as 2000-01-31, without quotes.",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[columns.a\n", "1: this is not TOML (Expected ']' at the end of a table declaration)"),
        ("\n\nkey value\n", "3: this is not TOML (Expected '=' after a key in a key/value pair); write key = value"),
        ("[columns.a]\n[columns.a]\n", "2: this is not TOML (Cannot declare ('columns', 'a') twice)"),
        ("a = 1\na = 2", "2: this is not TOML (Cannot overwrite a value); every table and key may stand once"),
        ("a = [1,\n2", "2: this is not TOML (Unclosed array); end the list with ]."),
        ("x = north\n", "1: this is not TOML (Invalid value); put text in quotes"),
    ],
)
def test_broken_toml_is_told_with_its_line(text: str, said: str) -> None:
    (line,) = problems_of(text)
    assert line.startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the schema has no column; add a table such as [columns.sex]."),
        ("columns = 5", "columns is not a table"),
        ("[columns]\nsex = 5", "column 'sex': it is not a table; write [columns.sex]"),
        ("rule = 5\n" + SEX, "rule is not a list of tables; write it with two brackets"),
        (X + 'kind = "categorical"\nvalues = "F"', "values is 'F'; give a list in brackets."),
        (X + 'kind = "categorical"\nvalues = []', "no values are listed"),
        (X + 'kind = "categorical"\nvalues = ["a"]\nlabels = { a = "A" }', "values and labels are both given"),
        (X + 'kind = "categorical"\nlabels = ["a"]', 'labels is not a table; give raw = "label" pairs'),
        (X + 'kind = "categorical"\nlabels = { a = 5 }', "labels is 5; give a text in quotes."),
        (X + 'kind = "categorical"\nvalues = ["a", ""]', "which always means missing; remove it and set missing"),
        (X + 'kind = "categorical"\nvalues = ["a"]\nmissing = "yes"', "missing is 'yes'; give true or false"),
        (X + 'kind = "categorical"\nvalues = ["a"]\nmissing_values = ["a"]', "'a' is both a value and a missing"),
        (X + 'kind = "categorical"\nvalues = ["a"]\nmissing_values = ["b", "b"]', "names 'b' twice"),
        (X + 'kind = "categorical"\nvalues = ["a"]\nother = ""', 'such as other = "other"'),
        (X + 'kind = "categorical"\nvalues = ["a"]\nother = "?"\nmissing_values = ["?"]', "both other and missing"),
        (X + 'kind = "categorical"\nvalues = ["a"]\ntype = "integer"', "'a' is not a whole number"),
        (X + 'kind = "categorical"\nvalues = ["01"]\ntype = "integer"', "'01' is not a whole number"),
        (X + 'kind = "categorical"\nvalues = ["a"]\ntype = "int"', "type is 'int'; did you mean 'integer'?"),
        (X + 'kind = "categorical"\nvalues = ["a"]\nprefix = -1', "prefix is -1; give the number of leading"),
        (X + 'kind = "categorical"\nvalues = ["ot1"]\nprefix = 2\nother = "other"', "cut to 2 is a value"),
        (X + 'kind = "categorical"\nvalues = ["a"]\ncollapse = { below = 5 }', "collapse needs both below and into"),
        (X + 'kind = "categorical"\nvalues = ["a"]\ncollapse = { below = 0, into = "r" }', "collapse.below is 0"),
        (X + 'kind = "categorical"\nvalues = ["a"]\ncollapse = { below = 5, into = " " }', "collapse.into is blank"),
        (
            X + 'kind = "categorical"\nvalues = ["a"]\nother = "o"\ncollapse = { below = 5, into = "r" }',
            "make them the same",
        ),
        (X + 'kind = "yes-no"\nyes = ["1"]', 'give both yes = ["..."] and no = ["..."], or neither.'),
        (X + 'kind = "yes-no"\nyes = ["1"]\nno = ["1"]', "'1' is in both yes and no; remove one."),
        (X + 'kind = "integer"', "bins are missing; give bins = { low = 0"),
        (X + 'kind = "integer"\nbins = 5', "bins is 5; give a table"),
        (X + 'kind = "integer"\nbins = { lo = 5 }', "bins has the unknown key 'lo'; did you mean 'low'?"),
        (X + 'kind = "integer"\nbins = { low = 0, high = 5 }', "bins.width is missing; give a width above 0"),
        (X + 'kind = "integer"\nbins = { low = 5, high = 0, width = 1 }', "edge 0 does not lie above 5"),
        (X + 'kind = "integer"\nbins = { low = 0, high = 1e9, width = 2 }', "more than 1,000,000 bins"),
        (X + 'kind = "integer"\nbins = { low = 0, high = nan, width = 2 }', "bins reach beyond"),
        (X + 'kind = "integer"\nbins = { edges = [0] }', "bins have fewer than two edges"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5, 5, 9] }', "edge 5 does not lie above 5"),
        (X + 'kind = "integer"\nbins = { edges = [0, 0.2, 0.5, 9] }', "the bin from 0.2 to 0.5 holds no value"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5], quantiles = 4 }', "bins are said in more than one way"),
        (X + 'kind = "integer"\nbins = { quantiles = 1 }', "bins.quantiles is 1; give a number of bins from 2 on"),
        (X + 'kind = "integer"\nbins = { edges = ["a", "b"] }', "bins.edges is 'a'; give a number"),
        (X + 'kind = "integer"\nbins = { edges = [2000-01-01, 2001-01-01] }', "lie between numbers"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5] }\nunit = 0', "unit is 0; give a rounding unit above 0"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5] }\nunit = 0.5', "give a whole unit"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5] }\nother = "6"', "other is '6', beyond the bins"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5] }\ndecode = "random"', "decode is 'random'; choose one of"),
        (X + 'kind = "integer"\nbins = { edges = [0, 1, 5] }\nspecial = { 0 = "none" }', "out of special"),
        (
            X + 'kind = "integer"\nbins = { edges = [0, 5] }\nspecial = { N = "a" }\nmissing_values = ["N"]',
            "'N' is both special and a missing value",
        ),
        (X + 'kind = "integer"\nbins = { edges = [0, 5] }\npublic_values = [[9]]', "a value outside its bin"),
        (BINS + "round_to = 100", "round_to is 100; give numbers with the share of their multiples"),
        (BINS + "round_to = { ten = 0.5 }", "give numbers with the share of their multiples"),
        (BINS + "round_to = { 10 = 1.5 }", "round_to gives 1.5 to 10; give the share"),
        (BINS + "round_to = { 10 = 0.6, 50 = 0.6 }", "come to more than 1"),
        (BINS + "round_to = { 15 = 0.5 }\nunit = 10", "round_to names 15, and values are multiples of 10"),
        (BINS + 'round_to = { 10 = 0.5 }\ndecode = "midpoint"', "round_to does not go with"),
        (BINS + "top = 99.5", "top is 99.5; give a whole number"),
        (BINS + "top = 0", "top is 0, beyond the bins"),
        (BINS + "top = 101", "top is 101, beyond the bins"),
        (X + 'kind = "integer"\nbins = { edges = [0, 5] }\npublic_values = []', "0 lists for 1 bins"),
        (X + 'kind = "date"\nbins = { unit = "week", low = 2000-01-01, high = 2001-01-01 }', "bins.unit is 'week'"),
        (X + 'kind = "date"\nbins = { width = 5, low = 2000-01-01, high = 2001-01-01 }', "does not go with a date"),
        (X + 'kind = "date"\nbins = { edges = [1, 2] }', "lie between dates"),
        (X + 'kind = "date"\nbins = { edges = [0900-01-01, 2000-01-01] }', "before the year 1000"),
        (X + 'kind = "date"\nformat = "%Y"\nbins = { quantiles = 5 }', "does not fix year and month"),
        (X + 'kind = "date"\nformat = "%Y%m"\nbins = { quantiles = 5 }', "has no day; give bins with unit"),
        (SEX + 'determined_by = ["agee"]\n' + AGE, "there is no column 'agee'; did you mean 'age'?"),
        (SEX + 'map = [["a"]]\n' + AGE, "map stands without determined_by"),
        (SEX + 'determined_by = ["age"]\nmap = [["1"]]\n' + AGE, "map has ['1']; give 2 texts, for age, sex."),
        (SEX + 'determined_by = ["age"]\nmap = [["1", "f"]]\n' + AGE, "'f' is no value of 'sex'"),
        (
            SEX + 'determined_by = ["b"]\n[columns.b]\nkind = "yes-no"\ndetermined_by = ["sex"]',
            "determined_by goes round in a circle",
        ),
        (SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "age"]', 'give keep = "public" or combinations'),
        (SEX + AGE + '[[joined]]\ncolumns = ["sex", "age"]\nkeep = "public"', "joined 1: name is missing"),
        (SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex"]\nkeep = "public"', "two or more different columns"),
        (SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "ag"]\nkeep = "public"', "did you mean 'age'?"),
        (
            SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "age"]\nkeep = "all"',
            "keep is 'all'; choose one of",
        ),
        (SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "age"]\ncombinations = []', "no combination is"),
        (SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "age"]\ncombinations = [["F"]]', "have 2 texts"),
        (SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "age"]\ncombinations = [["F", "x"]]', "no value of"),
        (
            SEX + AGE + '[[joined]]\nname = "j"\ncolumns = ["sex", "age"]\nkeep = "public"\n'
            '[[joined]]\nname = "k"\ncolumns = ["age", "sex"]\nkeep = "public"',
            "is joined already",
        ),
        (
            AGE + X + 'kind = "integer"\nbins = { low = 0, high = 100000, width = 1 }\n'
            '[[joined]]\nname = "j"\ncolumns = ["x", "age"]\nkeep = "public"',
            "more than 1,000,000 combinations",
        ),
        (SEX + '[[zero]]\nwhere = { sex = ["X"] }', "'X' is no value of 'sex'; choose one of F, M."),
        (SEX + "[[zero]]\nwhere = { sex = { below = 5 } }", "has no below or above; list its values"),
        (SEX + "[[zero]]\nwhere = {}", "where is empty"),
        (SEX + '[[zero]]\nwhere = "sex"', "where is not a table"),
        (SEX + '[[zero]]\nwhere = { sx = ["F"] }', "there is no column 'sx'; did you mean 'sex'?"),
        (AGE + "[[zero]]\nwhere = { age = { below = 2000-01-01 } }", "give below and above as numbers"),
        (SEX + AGE + '[[rule]]\nleft = "sex"\nright = "age"', "sex <= age compares categorical with integer"),
        (AGE + '[[rule]]\nleft = "age"', "rule 1: right is missing; add right = ..."),
    ],
)
def test_each_mistake_has_its_cure(text: str, said: str) -> None:
    lines = problems_of(text)
    assert any(said in line for line in lines), lines
    assert len(lines) == 1, "one mistake, one line"


def test_a_missing_file_says_how_to_draft_one(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="Draft one with: hedgerow schema init PUBLIC --out"):
        Schema.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SchemaError, match="it is not UTF-8 text"):
        Schema.load(tmp_path / "bad.toml")
    with pytest.raises(SchemaError, match="Cannot read the schema"):
        Schema.load(tmp_path)


def test_whole_numbers_may_be_listed_without_quotes_and_come_back_as_numbers() -> None:
    column = Schema.loads(X + 'kind = "ordered"\nvalues = [1, 2, -3]').column("x")
    assert column.values == ("1", "2", "-3") and column.type == "integer"
    assert Schema.loads(X + 'kind = "ordered"\nvalues = ["1", "2"]').column("x").type == "text"


def test_lines_are_found_through_strings_arrays_and_quoted_keys() -> None:
    text = '''# [columns.no]
a = """
[columns.fake]
b = 1
"""
c = [ # ]
  "x]", 'y[',
  [1, 2],
]
[columns."with . dot"]
kind = { a = 1 }
[[joined]]
name = 'x'
  [[joined]]
  name = "y"  # [[joined]]
[columns.deep.special]
"N.A." = 'it''s'
'''.replace("it''s", "it is")
    lines = key_lines(text)
    assert line_of(lines, ("c",)) == 6 and line_of(lines, ("columns", "with . dot", "kind")) == 11
    assert line_of(lines, ("joined", 0, "name")) == 13 and line_of(lines, ("joined", 1, "name")) == 15
    assert line_of(lines, ("columns", "deep", "special", "N.A.")) == 17
    assert line_of(lines, ("columns", "deep", "kind")) == 16 and line_of(lines, ("zero", 0)) == 1
    assert ("columns", "fake") not in lines and ("columns", "no") not in lines


@given(st.text(st.sampled_from(list("[]{}=\"'#\n ,.ab1-\\")), max_size=60))
@settings(max_examples=200)
def test_any_text_is_a_schema_or_a_schema_error(text: str) -> None:
    try:
        Schema.loads(text)
    except SchemaError as wrong:
        assert CLOSING in str(wrong)


@given(
    st.dictionaries(
        st.sampled_from(["kind", "values", "labels", "bins", "missing", "map", "special", "unit", "x", "prefix"]),
        st.sampled_from(
            ["5", "-1.5", "true", '"a"', '["a"]', "[1]", "{}", "{ low = 1 }", "[[]]", "2000-01-01", "nan"]
        ),
    ),
    st.sampled_from(["categorical", "ordered", "integer", "real", "date", "yes-no"]),
)
@settings(max_examples=200)
def test_any_column_is_read_or_refused_with_a_reason(table: dict[str, str], kind: str) -> None:
    text = "\n".join(["[columns.c]", *(f"{k} = {v}" for k, v in ({"kind": f'"{kind}"'} | table).items())])
    try:
        schema = Schema.loads(text)
    except SchemaError as wrong:
        assert CLOSING in str(wrong)
    else:
        assert Schema.loads(schema.dumps()) == schema
