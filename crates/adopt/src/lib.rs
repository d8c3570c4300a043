//! Configurations of servers that run elsewhere, as private copies that a measurement may start.
//!
//! Measuring side, cold path. Owns what is read of a user's configuration, what is changed in its copy, and why one
//! cannot be adopted. Reads the user's files and writes copies where it is told to; starts nothing, opens no socket, and
//! never writes beside the original. Lines of a copy are those of the original, so that a server's messages name them.

#![forbid(unsafe_code)]

mod apache;
mod application;
mod caddy;
mod copies;
mod error;
mod nginx;
mod setting;
mod text;

pub use application::{Application, made_pages};
pub use copies::{Change, Copies};
pub use error::{AdoptError, Reason, Refused};
pub use setting::{Entrance, Setting, StandIns, TREE};

use std::path::Path;

/// Languages of configurations that can be adopted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Apache httpd's.
    Apache,
    /// nginx'.
    Nginx,
    /// Caddyfiles.
    Caddy,
}

/// Whether a Caddyfile was written for bakeoff: an address of one of its sites contains `{port}`.
pub fn is_caddyfile_for_bakeoff(text: &str) -> bool {
    caddy::is_ours(text)
}

/// A configuration with all the files that it includes.
pub trait Adoptable {
    /// Number of files.
    fn files(&self) -> usize;

    /// The server to ask: the one for `host`, else the first that serves something itself, with TLS before without. `tls`: only
    /// where it speaks TLS, or only where it does not.
    ///
    /// # Errors
    /// There is none that listens so.
    fn entrance(&self, tls: Option<bool>, host: Option<&str>) -> Result<Entrance, AdoptError>;

    /// The copies for this setting; nothing is written yet.
    ///
    /// # Errors
    /// All statements that stand against it.
    fn adopt(&self, setting: &Setting<'_>) -> Result<Copies, AdoptError>;
}

/// Reads the file and all that it includes.
///
/// # Errors
/// A file that cannot be read, or that is none of this language; a script in it.
pub fn read(language: Language, main: &Path) -> Result<Box<dyn Adoptable>, AdoptError> {
    match language {
        Language::Apache => Ok(Box::new(apache::ApacheConfiguration::read(main)?)),
        Language::Nginx => Ok(Box::new(nginx::NginxConfiguration::read(main)?)),
        Language::Caddy => Ok(Box::new(caddy::CaddyConfiguration::read(main)?)),
    }
}
