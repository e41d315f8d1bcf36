"""``hedgerow verify``, ``sample``, ``estimate`` and ``compare``: what anyone can do with a release."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hedgerow.cli import show
from hedgerow.errors import JobError

if TYPE_CHECKING:
    from hedgerow.api.release import Release
    from hedgerow.public import CodedTable

    Copy = tuple[str, Release | None]

Only = Annotated[list[str] | None, typer.Option("--only", help="Only these measures; may be repeated.")]
Model = Annotated[str, typer.Option("--model", help="ln(pay) ~ sex + race + age + I(age^2) | agency + occupation")]
By = Annotated[str, typer.Option("--by", help="Fit the model for each value of this column; none for all at once.")]
Logistic = Annotated[str, typer.Option("--logistic", help="sex=F ~ agency + occupation")]
Cluster = Annotated[str, typer.Option("--cluster", help="The column of rows that go together, such as the person.")]
Group = Annotated[str, typer.Option("--group", help="Columns whose values are groups, with commas.")]
Joint = Annotated[str, typer.Option("--joint", help="Columns of panel (a), with commas.")]
Scatter = Annotated[str, typer.Option("--scatter", help="Columns that panel (b) crosses, with commas.")]
Private = Annotated[
    str, typer.Option("--private", help="Columns that are synthetic where others were given; a release says them.")
]
Label = Annotated[str, typer.Option("--label", help="What to predict: a column, or column=VALUE.")]
Library = Annotated[Literal["hedgerow", "pyfixest"], typer.Option("--fit-with", help="What fits linear models.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The seed of random splits and choices.")]
Published = Annotated[Path, typer.Argument(help="The folder of a release, or of a choice.", metavar="DIR")]
RunPublic = Annotated[
    str | None, typer.Option("--public", help="The run's public table, where records were drawn with its help.")
]
RunTarget = Annotated[
    str | None, typer.Option("--target", help="The run's target table, where columns were attached to it.")
]
AsJson = Annotated[bool, typer.Option("--json", help="The numbers as JSON on stdout.")]


def verify(
    folder: Published,
    ledger: Annotated[
        str | None, typer.Option("--ledger", help="Also hold it against the ledger it was paid from.")
    ] = None,
    public: RunPublic = None,
    target: RunTarget = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="The agency's public key: the release must be signed with it.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The checks as JSON on stdout.")] = False,
) -> None:
    """Check a release without the confidential data.

    Exit 0 when it holds, 6 when it does not, 7 when nothing failed but not all of it could be checked.
    """
    from hedgerow.release.confined import verify_confined
    from hedgerow.release.verify import WORDS, Verification, booked_statement, kind_of, outcome

    if not folder.is_dir():
        raise JobError(f"There is no folder {folder}. Name the folder of a release, such as: hedgerow verify release")
    found = verify_confined(folder, public=public, target=target, key=key)
    if ledger is not None:
        from hedgerow.steward.ledger_book import booking_of

        booked = outcome("the ledger has it, at its price", lambda: booking_of(ledger, booked_statement(folder)))
        found = Verification((*found.checks, booked))
    if as_json:
        show.echo(json.dumps(found.to_json(), indent=2))
    else:
        for c in found.checks:
            show.echo(f"{WORDS[c.held]} {c.name}: {c.detail}")
        show.echo(found.summary(kind_of(folder)))
    raise typer.Exit(found.exit_code)


def sign(
    folder: Published,
    key: Annotated[Path, typer.Option("--key", help="The file of the agency's private key (Ed25519, PEM).")],
    new_key: Annotated[
        bool, typer.Option("--new-key", help="Make the key first: KEY, for you alone, and KEY.pub, for everybody.")
    ] = False,
    public: RunPublic = None,
    target: RunTarget = None,
) -> None:
    """Sign a release with the agency's key. Who has the public key checks it: hedgerow verify DIR --key KEY.pub.

    It is verified first. What does not hold is not signed; what could not be checked is named.
    """
    from hedgerow.release.confined import verify_confined
    from hedgerow.release.signature import create_key
    from hedgerow.release.signature import sign as signed
    from hedgerow.release.verify import WORDS

    if not folder.is_dir():
        raise JobError(f"There is no folder {folder}. Name the folder of a release: hedgerow sign release --key FILE")
    found = verify_confined(folder, public=public, target=target)
    found.must_not_fail(folder)
    if new_key:
        shared = create_key(key)
        show.echo(f"Made {key}: keep it secret, and a copy safe. Made {shared}: publish it where people trust you.")
    signature = signed(folder, key)
    for c in found.checks:
        if c.held is None:
            show.echo(f"{WORDS[None]} {c.name}: {c.detail}")
    show.echo(f"Signed: {signature}. Anyone checks it with: hedgerow verify {folder} --key PUBLIC_KEY")


def sample(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.", metavar="DIR")],
    copies: Annotated[int, typer.Option("--copies", "-m", min=1, help="How many copies.")] = 1,
    replicates: Annotated[
        int, typer.Option("--replicates", min=0, help="Instead of copies, so many replicates; 20 are good.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="The seed of the sampling.")] = 1,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to; DIR-copies or DIR-replicates by default.")
    ] = None,
    public: RunPublic = None,
    target: RunTarget = None,
) -> None:
    """Draw more copies from a release's measurements, or replicates. Costs nothing; reads nothing confidential.

    Replicates are the release as it could have come out: the spread of a figure over them, around the released
    file's, is its uncertainty but for the sampling of the confidential rows.
    """
    from hedgerow.api.release import Release
    from hedgerow.figures import many

    here = folder.resolve()  # "." has no name of its own
    what = "replicates" if replicates else "copies"
    place = out or here.with_name(f"{here.name}-{what}")
    if place.exists() and any((*place.glob(f"*-seed{seed}-*"), *place.glob(f"*-seed{seed}.*"))):
        raise JobError(f"{place} holds {what} of seed {seed} already. Choose another --seed or --out.")
    with show.progress() as watch:
        watch(f"drawing {what}")
        options: dict[str, Any] = {"seed": seed, "public": public, "target": target, "watch": watch}
        release = Release.read(folder)
        release.write_samples(place, copies, replicates=replicates, **options)
    made = many(replicates, "replicate") if replicates else f"{copies} {'copy' if copies == 1 else 'copies'}"
    show.echo(f"{made} in {place}. Nothing confidential was read or spent.")
    if replicates and release.replicates_warning:
        show.echo(release.replicates_warning)


def estimate(
    folder: Annotated[Path, typer.Argument(help="The folder of a release.", metavar="DIR")],
    use: Annotated[
        str, typer.Option("--use", help="An intended use of the job, by its name; all of them if none.")
    ] = "",
    formula: Annotated[str, typer.Option("--formula", help="ln(pay) ~ sex + age | agency; with --term.")] = "",
    term: Annotated[str, typer.Option("--term", help="The coefficient: sex[F].")] = "",
    mean: Annotated[str, typer.Option("--mean", help="The mean of this column.")] = "",
    quantile: Annotated[str, typer.Option("--quantile", help="Quantiles of this column, --at which.")] = "",
    at: Annotated[str, typer.Option("--at", help="Which quantiles, with commas.")] = "0.5",
    rate: Annotated[str, typer.Option("--rate", help="The share of rows with a value: income=>50K, or a=x|y.")] = "",
    table: Annotated[
        str, typer.Option("--table", help="Shares of all rows in the cross of columns: agency,sex.")
    ] = "",
    by: Annotated[str, typer.Option("--by", help="One figure for each group of these columns, with commas.")] = "",
    level: Annotated[float, typer.Option("--level", help="The level of the intervals.")] = 0.95,
    sampling: Annotated[
        bool, typer.Option("--sampling/--no-sampling", help="Without: for the confidential table itself.")
    ] = True,
    public: RunPublic = None,
    target: RunTarget = None,
    as_json: AsJson = False,
) -> None:
    """Say a figure with an interval that counts sampling, the gate's noise and what is left out. Costs nothing."""
    from hedgerow.api.release import Release

    with show.progress() as watch:
        watch("estimating")
        asked: dict[str, Any] = {"formula": formula, "term": term, "mean": mean, "quantile": quantile, "rate": rate}
        asked |= {"table": _split(table), "by": _split(by), "at": _shares(at)}
        options: dict[str, Any] = {"level": level, "sampling": sampling, "public": public, "target": target}
        found = Release.read(folder).estimate(use or None, **options, **asked)
    show.echo(json.dumps(found.to_json(), indent=2) if as_json else repr(found))
    if not as_json:
        show.echo("Nothing confidential was read or spent.")


def _split(names: str) -> list[str]:
    return [n.strip() for n in names.split(",") if n.strip()]


def _shares(text: str) -> list[float]:
    try:
        return [float(a) for a in _split(text)]
    except ValueError:
        raise JobError(f"--at is {text!r}: write numbers between 0 and 1, with commas. Nothing was read.") from None


def compare(
    a: Annotated[str, typer.Argument(help="The table that is stood for: a PUBLIC one.", metavar="A")],
    b: Annotated[
        list[str],
        typer.Argument(help="Synthetic copies, or the folder of a release, also of counts.", metavar="B..."),
    ],
    schema: Annotated[
        Path | None, typer.Option("--schema", help="B's own, or one drafted from A, by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write a report to this file.", metavar="X.html")] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", help="Write the numbers of each measure to this folder.", metavar="DIR"),
    ] = None,
    beside: Annotated[
        str, typer.Option("--beside", help="Another release or copy: its panels stand beside B's.", metavar="C")
    ] = "",
    count: Annotated[str, typer.Option(help="The column of A that says how many records a line stands for.")] = "",
    only: Only = None,
    model: Model = "",
    by: By = "",
    logistic: Logistic = "",
    cluster: Cluster = "",
    group: Group = "",
    joint: Joint = "",
    scatter: Scatter = "",
    private: Private = "",
    label: Label = "",
    library: Library = "hedgerow",
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Say how close synthetic table B is to public table A. For the confidential table: hedgerow steward compare."""
    import numpy as np

    from hedgerow.evaluate.compare import compare as compared
    from hedgerow.evaluate.compare import metrics_from, page, summary

    options = {"model": model, "by": by, "logistic": logistic, "cluster": cluster, "label": label, "library": library}
    asked = _copies(b)
    options["private"] = private or ",".join(_private(asked))
    metrics = metrics_from(only=only or (), group=group, joint=joint, scatter=scatter, **options)
    with show.progress() as watch:
        watch("reading the tables")
        first, copies = _read(a, asked, schema, count)
        counted = "" if count else _counted(a)
        found = compared(first, copies, rng=np.random.default_rng(seed), metrics=metrics, watch=watch)
        other = None
        if beside:
            again, others = _read(a, _copies([beside]), schema, count)
            other = compared(again, others, rng=np.random.default_rng(seed), metrics=metrics, watch=watch)
        if out is not None:
            write_page(out, page(found, beside=other))
        if csv is not None:
            csv.mkdir(parents=True, exist_ok=True)
            for name, table in found.csv_files().items():
                write_page(csv / name, table)
    if counted:
        show.echo(
            f"Is {Path(a).name} a table of counts? No two of its lines are alike but for {counted}. Each line was "
            f"taken for one record; if it stands for {counted} of them, add --count {counted}.",
            err=True,
        )
    if as_json:
        also = {"beside": other.to_json()} if other else {}
        show.echo(json.dumps(found.to_json() | also, indent=2))
        return
    show.echo(summary(found))
    if other is not None:
        show.echo(f"\n{other.b} in its place:\n{summary(other)}")
    show.echo("All tables were taken as PUBLIC. For the confidential one: hedgerow steward compare JOB.toml")
    if out is not None:
        show.echo(f"The report is in {out}")


def _copies(names: list[str]) -> "list[Copy]":
    """What each of them is: a folder, which is opened as a release is, and once; or a table of its own."""
    from hedgerow.api.release import Release

    return [(name, Release(name) if Path(name).is_dir() else None) for name in names]


def _read(a: str, b: "list[Copy]", given: Path | None, count: str = "") -> "tuple[CodedTable, list[CodedTable]]":
    """Table A, and the copies."""
    from hedgerow.public import CodedTable, Schema, expanded_public, is_address, open_public, resolved_on

    copies, beside = list[tuple[str, Any]](), list[Path]()
    for name, release in b:
        folder = Path(name)
        if release is not None:
            release.must_open()
            found = sorted(folder.glob("records*.parquet"), key=lambda p: (len(p.name), p.name))
            counts = all((folder / part).is_file() for part in ("counts.csv", "statement.json"))
            if not found and not counts:
                raise JobError(
                    f"The folder {name} holds no records*.parquet and no counts.csv of a release (with its "
                    "statement.json) to compare. Nothing was read or spent."
                )
            copies += [(str(p), p) for p in found]
            if not found:
                copies += [(str(folder / "counts.csv"), c) for c in release.as_records()]
            beside += [folder / "schema.toml"] if (folder / "schema.toml").is_file() else []
        else:
            copies.append((name, name))
    rows = open_public(a) if is_address(a) else a  # what is on a server is brought once
    source = expanded_public(open_public(rows), count)
    place = given or (beside[0] if beside else None)
    schema = Schema.load(place) if place else Schema.draft(rows, count=count)
    schema = resolved_on(schema, source)
    table = CodedTable.read(rows, schema, "target", count)
    return table, [replace(CodedTable.read(t, schema, role="target"), name=n) for n, t in copies]


def _counted(a: str) -> str:
    """The column by which table A looks like one of counts; of a table on a server nothing is asked."""
    from hedgerow.public import is_address, looks_aggregated, open_public

    return "" if is_address(a) else looks_aggregated(open_public(a))


def _private(b: "list[Copy]") -> tuple[str, ...]:
    """The columns that a release among the copies attached to given rows; none when there is no such release."""
    for _, release in b:
        if release is not None and (release.folder / "statement.json").is_file():
            return release.private
    return ()


def write_page(path: Path, text: str) -> None:
    """Write a file of text, or say why it cannot be."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as wrong:
        raise JobError(f"Cannot write {path}: {wrong.strerror}. Give another place with --out.") from None
