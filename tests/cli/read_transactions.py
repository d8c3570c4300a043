"""Sums the log of transactions by run and phase, as runs.jsonl has them, and prints them as JSON.

DuckDB reads all parts at once, as a user would.
"""

import json
import sys

import duckdb

parts = f"{sys.argv[1]}/transactions/*.parquet"
database = duckdb.connect()

# Good replies alone are in times and bytes; of them basic ones alone in hits and misses.
figures = {
    "finished": "true",
    "good": "outcome = 'good'",
    "aborted": "outcome = 'aborted'",
    "failed": "outcome = 'failed'",
    "new_objects": "NOT repeated",
    "connections_reused": "connection_reused",
    "connections_opened": "NOT connection_reused AND (status IS NOT NULL OR outcome = 'aborted')",
}
good = "outcome = 'good'"
basic = f"{good} AND kind = 'basic'"
sums = {
    "replies.response_ns": ("done_ns - due_ns", good),
    "replies.service_ns": ("done_ns - sent_ns", good),
    "replies.bytes": ("reply_bytes", good),
    "request_bytes": ("request_bytes", good),
    "hits.bytes": ("reply_bytes", f"{basic} AND hit = 'hit'"),
    "hits.response_ns": ("done_ns - due_ns", f"{basic} AND hit = 'hit'"),
    "revalidated.bytes": ("reply_bytes", f"{basic} AND hit = 'revalidated'"),
    "misses.bytes": ("reply_bytes", f"{basic} AND hit IN ('miss', 'none')"),
    "misses.response_ns": ("done_ns - due_ns", f"{basic} AND hit IN ('miss', 'none')"),
    "offered_hit_bytes": ("reply_bytes", f"{basic} AND offered"),
    "cachable.bytes": ("reply_bytes", f"{basic} AND cachable"),
}


def by_phase(select, where="true"):
    """Rows of run, phase and what is asked for; after the last phase the phase has no name."""
    query = f"""SELECT run, coalesce(phase, ''), {select}
        FROM (SELECT *, unnest(CASE WHEN len(faults) > 0 THEN faults ELSE [NULL] END) AS fault FROM '{parts}')
        WHERE {where} GROUP BY ALL ORDER BY ALL"""
    return database.execute(query).fetchall()


def plainly(select):
    """The same where a request with several faults is one row."""
    query = f"SELECT run, coalesce(phase, ''), {select} FROM '{parts}' GROUP BY ALL ORDER BY ALL"
    return database.execute(query).fetchall()


phases = {}
selected = [f"count(*) FILTER ({which})" for which in figures.values()]
for what, which in sums.values():
    selected += [f"count(*) FILTER ({which})", f"coalesce(sum({what}) FILTER ({which}), 0)::UBIGINT"]
for run, phase, *found in plainly(", ".join(selected)):
    counts, rest = found[: len(figures)], found[len(figures) :]
    pairs = zip(rest[::2], rest[1::2])
    phases[f"{run}/{phase}"] = {
        **dict(zip(figures, counts)),
        **{name: {"count": count, "sum": total} for name, (count, total) in zip(sums, pairs)},
        "errors": {},
        "faults": {},
        "statuses": {},
    }
for run, phase, error, count in plainly("error, count(*)"):
    if error is not None:
        phases[f"{run}/{phase}"]["errors"][error] = count
for run, phase, status, count in plainly(f"status, count(*) FILTER ({good})"):
    if count:
        phases[f"{run}/{phase}"]["statuses"][str(status)] = count
for run, phase, fault, count in by_phase("fault, count(*)", "fault IS NOT NULL"):
    phases[f"{run}/{phase}"]["faults"][fault] = count

database.execute(f"SELECT * FROM '{parts}' LIMIT 0")
types = {column[0]: str(column[1]) for column in database.description}
database.execute(f"SELECT DISTINCT decode(key), decode(value) FROM parquet_kv_metadata('{parts}')")
notes = dict(database.fetchall())
units = {key.removeprefix("unit."): value for key, value in notes.items() if key.startswith("unit.")}
one = "count(DISTINCT stamp) = count(*), min(sent_ns >= due_ns AND done_ns >= first_byte_ns), count(DISTINCT entrant)"
runs = {run: found for run, *found in database.execute(f"SELECT run, {one} FROM '{parts}' GROUP BY run").fetchall()}
print(json.dumps({"phases": phases, "types": types, "units": units, "runs": runs}))
