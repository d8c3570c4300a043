//! The table of slices as a Parquet file: the columns of the CSV with their types.
//!
//! One row group, compressed by Snappy. Every column may hold nothing. The units stand in the file's
//! key-value metadata, `unit.COLUMN` for each column that has one: the format has no better place
//! that its readers agree on.

use super::{Cell, Column, Kind, Value, columns, rows};
use crate::Bundle;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{Type, TypePtr};
use std::sync::Arc;

/// The bytes of `slices.parquet`.
pub fn parquet(bundle: &Bundle) -> Vec<u8> {
    let columns = columns();
    write(bundle, &columns).expect("writing into memory cannot fail, and all columns have one length")
}

fn write(bundle: &Bundle, columns: &[Column]) -> Result<Vec<u8>> {
    let rows = rows(bundle);
    let mut file =
        SerializedFileWriter::new(Vec::new(), schema(columns)?, Arc::new(properties(bundle, columns)))?;
    let mut group = file.next_row_group()?;
    for column in columns {
        let cells = rows.iter().map(|row| column.of(row));
        if let Some(writer) = group.next_column()? {
            write_column(writer, column.kind, cells.collect())?;
        }
    }
    group.close()?;
    file.into_inner()
}

fn properties(bundle: &Bundle, columns: &[Column]) -> WriterProperties {
    let units = columns.iter().filter(|column| !column.unit.is_empty());
    let units = units.map(|column| KeyValue::new(format!("unit.{}", column.name), column.unit.to_owned()));
    let own = [
        ("bakeoff", &bundle.results.bakeoff),
        ("name", &bundle.results.name),
        ("started", &bundle.results.started),
    ];
    let own = own.into_iter().map(|(key, value)| KeyValue::new(key.to_owned(), value.clone()));
    WriterProperties::builder()
        .set_created_by(format!("bakeoff {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(own.chain(units).collect()))
        .build()
}

fn schema(columns: &[Column]) -> Result<TypePtr> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Count => (Physical::INT64, None),
            Kind::Figure => (Physical::DOUBLE, None),
            Kind::Word => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Yes => (Physical::BOOLEAN, None),
        };
        let field = Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical);
        field.build().map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<TypePtr>>>()?;
    Type::group_type_builder("slices").with_fields(fields).build().map(Arc::new)
}

fn write_column(writer: SerializedColumnWriter<'_>, kind: Kind, cells: Vec<Cell>) -> Result<()> {
    match kind {
        // Counts of nanoseconds reach 2^63 after 292 years.
        Kind::Count => write_as::<Int64Type>(writer, &cells, |value| match value {
            Value::Count(n) => i64::try_from(*n).ok(),
            _ => None,
        }),
        Kind::Figure => write_as::<DoubleType>(writer, &cells, |value| match value {
            Value::Figure(x) => Some(*x),
            _ => None,
        }),
        Kind::Word => write_as::<ByteArrayType>(writer, &cells, |value| match value {
            Value::Word(word) => Some(ByteArray::from(word.as_str())),
            _ => None,
        }),
        Kind::Yes => write_as::<BoolType>(writer, &cells, |value| match value {
            Value::Yes(yes) => Some(*yes),
            _ => None,
        }),
    }
}

/// The values that are there, and for every row whether one is.
fn write_as<T: DataType>(
    mut writer: SerializedColumnWriter<'_>,
    cells: &[Cell],
    read: impl Fn(&Value) -> Option<T::T>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = cells.iter().map(|cell| cell.as_ref().and_then(&read)).collect();
    let there: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    writer.typed::<T>().write_batch(&values, Some(&there), None)?;
    writer.close()
}
