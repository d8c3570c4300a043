//! Parquet files: one row group, compressed by Snappy.

use parquet::basic::Compression;
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::sync::Arc;

/// What all files have in common; `notes` stand in the key-value metadata.
pub(crate) fn properties(notes: impl IntoIterator<Item = (String, String)>) -> WriterPropertiesBuilder {
    let notes = notes.into_iter().map(|(key, value)| KeyValue::new(key, value));
    WriterProperties::builder()
        .set_created_by(format!("bakeoff {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(notes.collect()))
}

/// The bytes of a file: each column and the field that says what it holds.
pub(crate) fn file<C>(
    name: &str,
    properties: WriterProperties,
    columns: &[C],
    field: impl Fn(&C) -> Result<Type>,
    write: impl Fn(SerializedColumnWriter<'_>, &C) -> Result<()>,
) -> Result<Vec<u8>> {
    let fields = columns.iter().map(|column| field(column).map(Arc::new)).collect::<Result<Vec<_>>>()?;
    let schema = Type::group_type_builder(name).with_fields(fields).build()?;
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = file.next_row_group()?;
    for column in columns {
        if let Some(writer) = group.next_column()? {
            write(writer, column)?;
        }
    }
    group.close()?;
    file.into_inner()
}

/// The values that are there, and for every row whether one is.
pub(crate) fn some<T: DataType>(
    mut writer: SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let (mut known, mut there) = (Vec::new(), Vec::new());
    for value in values {
        there.push(i16::from(value.is_some()));
        known.extend(value);
    }
    writer.typed::<T>().write_batch(&known, Some(&there), None)?;
    writer.close()
}
