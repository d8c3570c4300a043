"""Compares slices.parquet with slices.csv, cell by cell, and prints types and units as JSON.

DuckDB reads the one, Python's csv module the other: neither shares code with what wrote them.
"""

import csv
import json
import sys

import duckdb

directory = sys.argv[1]
path = f"{directory}/slices.parquet"
database = duckdb.connect()
database.execute("SELECT * FROM read_parquet(?)", [path])
columns = [column[0] for column in database.description]
types = {column[0]: str(column[1]) for column in database.description}
rows = database.fetchall()

with open(f"{directory}/slices.csv", newline="", encoding="utf-8") as file:
    head, *expected = csv.reader(file)
assert columns == head, (columns, head)
assert len(rows) == len(expected), (len(rows), len(expected))


def same(cell, text):
    if cell is None:
        return text == ""
    if isinstance(cell, bool):
        return str(int(cell)) == text
    return type(cell)(text) == cell  # int, float (exactly) or str


for number, (row, texts) in enumerate(zip(rows, expected)):
    for name, cell, text in zip(columns, row, texts):
        assert same(cell, text), (number, name, cell, text)

database.execute("SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)", [path])
notes = dict(database.fetchall())
units = {key.removeprefix("unit."): value for key, value in notes.items() if key.startswith("unit.")}
print(json.dumps({"rows": len(rows), "types": types, "units": units, "bakeoff": notes["bakeoff"]}))
