//! Last checkpoint of each server's audit log, as a witness against logs that were cut off or replaced by an older
//! copy.
//!
//! Measured side, agent process, cold. A file for each server, `checkpoints/NAME`, with the signed note as received:
//! it can be copied and given to anybody. A note that contradicts it is kept beside it, `NAME.refused`. From then on
//! no note of that server is accepted until the administrator has looked, and moved both away: a replaced log is
//! longer again in an hour, and nobody would notice.

use crate::files::{self, FileError};
use crate::message::MOST_BYTES;
use crate::refusal::No;
use bakeoff_layers_base::plain::{self, FileAudience, FileOwner};
use bakeoff_layers_credentials::audit::{Checkpoint, CheckpointKeys};
use bakeoff_layers_credentials::key::PublicKey;
use bakeoff_layers_credentials::name::PrincipalName;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Directory of all checkpoints.
#[derive(Debug)]
pub(super) struct Checkpoints(PathBuf);

impl Checkpoints {
    /// Opens it in the agent's directory.
    pub(super) fn below(dir: &Path) -> Result<Self, FileError> {
        let path = dir.join("checkpoints");
        files::make_dir(&path).map(|()| Self(path))
    }

    /// The kept note of a server; empty if there is none.
    pub(super) fn kept(&self, server: &PrincipalName) -> Result<String, No> {
        match plain::read_text(&self.0.join(server.to_string()), FileOwner::Trusted, MOST_BYTES as u64) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            kept => kept.map_err(|_| No::NotKept),
        }
    }

    /// Keeps a note that the server signed with this key, if its log continues from the one before.
    pub(super) fn keep(&self, server: &PrincipalName, key: PublicKey, note: &str) -> Result<(), No> {
        let keys = CheckpointKeys { server: server.clone(), keys: vec![key] };
        let said = Checkpoint::open(note, &keys).map_err(No::NotItsCheckpoint)?.0;
        let refused = format!("{server}.refused");
        let kept = self.kept(server)?;
        if !kept.is_empty() {
            let kept = Checkpoint::peek(&kept).map_err(|_| No::NotKept)?.0;
            if said == kept {
                return Ok(());
            }
            if said.size <= kept.size {
                self.put(&refused, note)?;
                return Err(match said.size == kept.size {
                    true => No::CheckpointForked(kept.size),
                    false => No::CheckpointWentBack { kept: kept.size, said: said.size },
                });
            }
        }
        if self.0.join(&refused).symlink_metadata().is_ok() {
            return Err(No::CheckpointDisputed);
        }
        self.put(&server.to_string(), note)
    }

    fn put(&self, name: &str, note: &str) -> Result<(), No> {
        files::write(&self.0.join(name), note.as_bytes(), FileAudience::Owner).map_err(|_| No::NotKept)
    }
}
