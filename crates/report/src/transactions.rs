//! A part of the log of transactions as a Parquet file.
//!
//! Measuring side, cold, but on a thread beside one that asks: made while load runs, hence columns at a time, and
//! words once a column. Moments are differences of neighbours, as they hardly vary; else dictionaries, which few
//! words fit well. Units and meanings stand in the file's key-value metadata, `unit.COLUMN` and `meaning.COLUMN`.

use crate::parquet::{file, properties, some};
use bakeoff_caches::transactions::{COLUMNS, Cells, Column, Transaction, TransactionFile};
use parquet::basic::{Encoding, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::{ColumnPath, Type};
use std::sync::Arc;

/// The bytes of a part's file.
///
/// # Errors
/// What the writer of Parquet says, in words.
pub fn transactions_parquet(part: &TransactionFile<'_>) -> std::result::Result<Vec<u8>, String> {
    write(part).map_err(|why| why.to_string())
}

fn write(part: &TransactionFile<'_>) -> Result<Vec<u8>> {
    let notes = COLUMNS.iter().flat_map(|column| {
        let unit =
            (!column.unit.is_empty()).then(|| (format!("unit.{}", column.name), column.unit.to_owned()));
        unit.into_iter().chain([(format!("meaning.{}", column.name), column.meaning.to_owned())])
    });
    let own = ("bakeoff".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    let properties = COLUMNS.iter().fold(properties([own].into_iter().chain(notes)), encoded).build();
    let cells =
        |writer: SerializedColumnWriter<'_>, column: &Column| write_column(writer, column.cells, part);
    file("transactions", properties, &COLUMNS, field, cells)
}

/// Where a dictionary would hold nearly every value.
fn encoded(all: WriterPropertiesBuilder, column: &Column) -> WriterPropertiesBuilder {
    let path = || ColumnPath::from(column.name);
    match column.cells {
        Cells::Moments(_) => all
            .set_column_dictionary_enabled(path(), false)
            .set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED),
        Cells::Counts(_) | Cells::Bits(_) | Cells::Yes(_) | Cells::Words(_) | Cells::Lists(_) => all,
    }
}

fn field(column: &Column) -> Result<Type> {
    let word = Some(LogicalType::String);
    let plain = |physical, repetition, logical| {
        let field = Type::primitive_type_builder(column.name, physical).with_repetition(repetition);
        field.with_logical_type(logical).build()
    };
    match column.cells {
        Cells::Moments(_) => plain(Physical::INT64, Repetition::REQUIRED, None),
        Cells::Counts(_) => plain(Physical::INT64, Repetition::OPTIONAL, None),
        Cells::Bits(_) => plain(Physical::INT64, Repetition::REQUIRED, Some(LogicalType::integer(64, false))),
        Cells::Yes(_) => plain(Physical::BOOLEAN, Repetition::REQUIRED, None),
        Cells::Words(_) => plain(Physical::BYTE_ARRAY, Repetition::OPTIONAL, word),
        Cells::Lists(_) => {
            let element = Type::primitive_type_builder("element", Physical::BYTE_ARRAY)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(word)
                .build()?;
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REPEATED)
                .with_fields(vec![Arc::new(element)])
                .build()?;
            Type::group_type_builder(column.name)
                .with_repetition(Repetition::REQUIRED)
                .with_logical_type(Some(LogicalType::List))
                .with_fields(vec![Arc::new(list)])
                .build()
        }
    }
}

fn write_column(writer: SerializedColumnWriter<'_>, cells: Cells, part: &TransactionFile<'_>) -> Result<()> {
    let TransactionFile { of, rows } = *part;
    match cells {
        Cells::Moments(read) => every::<Int64Type>(writer, rows, |row| whole(read(of, row))),
        Cells::Counts(read) => some::<Int64Type>(writer, rows.iter().map(|row| read(of, row).map(whole))),
        // The same bits; the type of the column says that they have no sign.
        Cells::Bits(read) => every::<Int64Type>(writer, rows, |row| read(row).cast_signed()),
        Cells::Yes(read) => every::<BoolType>(writer, rows, read),
        Cells::Words(read) => {
            let mut known = Known::default();
            some::<ByteArrayType>(writer, rows.iter().map(|row| read(of, row).map(|word| known.word(word))))
        }
        Cells::Lists(read) => lists(writer, rows, read),
    }
}

/// Nanoseconds and bytes reach 2^63 after 292 years or 8 EiB.
fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn every<T: DataType>(
    mut writer: SerializedColumnWriter<'_>,
    rows: &[Transaction],
    read: impl FnMut(&Transaction) -> T::T,
) -> Result<()> {
    let values: Vec<T::T> = rows.iter().map(read).collect();
    writer.typed::<T>().write_batch(&values, None, None)?;
    writer.close()
}

/// Of each row any number of words: the first says that a row begins, none that it is empty.
fn lists(
    mut writer: SerializedColumnWriter<'_>,
    rows: &[Transaction],
    read: fn(&Transaction) -> Vec<&'static str>,
) -> Result<()> {
    let mut known = Known::default();
    let (mut values, mut there, mut goes_on) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows {
        let words = read(row);
        for at in 0..words.len().max(1) {
            there.push(i16::from(!words.is_empty()));
            goes_on.push(i16::from(at > 0));
        }
        values.extend(words.into_iter().map(|word| known.word(word)));
    }
    writer.typed::<ByteArrayType>().write_batch(&values, Some(&there), Some(&goes_on))?;
    writer.close()
}

/// The few words of a column, each allocated once.
#[derive(Default)]
struct Known<'r>(Vec<(&'r str, ByteArray)>);

impl<'r> Known<'r> {
    fn word(&mut self, word: &'r str) -> ByteArray {
        if let Some((_, known)) = self.0.iter().find(|(known, _)| *known == word) {
            return known.clone();
        }
        let array = ByteArray::from(word);
        self.0.push((word, array.clone()));
        array
    }
}
