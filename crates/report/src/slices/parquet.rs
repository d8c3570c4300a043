//! The table of slices as a Parquet file: the columns of the CSV with their types.
//!
//! Every column may hold nothing. The units stand in the file's key-value metadata, `unit.COLUMN` for each column that
//! has one: the format has no better place that its readers agree on.

use super::{Cell, Column, Kind, Row, Value, columns, rows};
use crate::ReportInput;
use crate::parquet::{file, properties, some};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

/// The bytes of `slices.parquet`.
pub fn parquet(bundle: &ReportInput) -> Vec<u8> {
    let (columns, rows, results) = (columns(), rows(bundle), &bundle.results);
    let units = columns.iter().filter(|column| !column.unit.is_empty());
    let units = units.map(|column| (format!("unit.{}", column.name), column.unit.to_owned()));
    let own = [("bakeoff", &results.bakeoff), ("name", &results.name), ("started", &results.started)];
    let own = own.into_iter().map(|(key, value)| (key.to_owned(), value.clone()));
    let properties = properties(own.chain(units)).build();
    let written = file("slices", properties, &columns, field, |writer, column| write(writer, column, &rows));
    written.expect("writing into memory cannot fail, and all columns have one length")
}

fn field(column: &Column) -> Result<Type> {
    let (physical, logical) = match column.kind {
        Kind::Count => (Physical::INT64, None),
        Kind::Figure => (Physical::DOUBLE, None),
        Kind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Yes => (Physical::BOOLEAN, None),
    };
    let field = Type::primitive_type_builder(column.name, physical).with_repetition(Repetition::OPTIONAL);
    field.with_logical_type(logical).build()
}

fn write(writer: SerializedColumnWriter<'_>, column: &Column, rows: &[Row<'_>]) -> Result<()> {
    let cells = rows.iter().map(|row| -> Cell { column.of(row) });
    match column.kind {
        // Counts of nanoseconds reach 2^63 after 292 years.
        Kind::Count => some::<Int64Type>(
            writer,
            cells.map(|cell| match cell {
                Some(Value::Count(n)) => i64::try_from(n).ok(),
                _ => None,
            }),
        ),
        Kind::Figure => some::<DoubleType>(
            writer,
            cells.map(|cell| match cell {
                Some(Value::Figure(x)) => Some(x),
                _ => None,
            }),
        ),
        Kind::Word => some::<ByteArrayType>(
            writer,
            cells.map(|cell| match cell {
                Some(Value::Word(word)) => Some(ByteArray::from(word.as_str())),
                _ => None,
            }),
        ),
        Kind::Yes => some::<BoolType>(
            writer,
            cells.map(|cell| match cell {
                Some(Value::Yes(yes)) => Some(yes),
                _ => None,
            }),
        ),
    }
}
