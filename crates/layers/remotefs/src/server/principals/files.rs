//! Files of the rules: the access list, and revocations from one start to the next.
//!
//! Measured side, server process, cold.

use super::super::error::ServeError;
use bakeoff_layers_base::plain::{self, FileLocation, FileOwner};
use bakeoff_layers_credentials::Revoked;
use bakeoff_layers_credentials::acl::Acl;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Longest access list, and longest list of revocations.
const MOST_BYTES: u64 = 16 << 20;

pub(super) fn read_acl(file: &Path) -> Result<(Arc<Acl>, Arc<str>), ServeError> {
    let failed = |error: String| ServeError::Acl { path: file.to_owned(), error };
    let text = plain::read_text(file, FileOwner::Trusted, MOST_BYTES);
    let text = text.map_err(|error| failed(error.to_string()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let acl = Acl::of_text(&text, &name).map_err(|error| failed(error.to_string()))?;
    Ok((Arc::new(acl), text.into()))
}

/// Revocations before this start, and where the next are written. An unreadable line is an error, as somebody could be
/// let in wrongly.
pub(super) fn read_revoked(file: Option<&Path>) -> Result<(Revoked, Option<FileLocation>), ServeError> {
    let Some(file) = file else { return Ok(Default::default()) };
    let failed = |error: io::Error| ServeError::Revoked { path: file.to_owned(), error };
    let place = FileLocation::guarded(file).map_err(failed)?;
    let revoked = match plain::read_text(file, FileOwner::Trusted, MOST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Revoked::default()),
        read => Revoked::of_text(&read.map_err(failed)?),
    };
    Ok((revoked.ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))?, Some(place)))
}
