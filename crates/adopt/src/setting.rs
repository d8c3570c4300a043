//! Setting of a private copy: its ports, its directories, and what plays the servers behind it.
//!
//! Measuring side, cold, pure.

use crate::application::Application;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

/// The private directory's folder that holds the copies, each under its whole path.
pub const TREE: &str = "tree";

/// Stand-ins for what is behind the server, by what they speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StandIns<T> {
    /// HTTP.
    pub http: T,
    /// HTTP over TLS.
    pub https: T,
    /// FastCGI.
    pub fastcgi: T,
}

/// Where the copy runs.
#[derive(Clone, Debug)]
pub struct Setting<'a> {
    /// The address that it listens on.
    pub address: Ipv4Addr,
    /// The original port of the server that is asked.
    pub entrance: u16,
    /// The port that it gets.
    pub port: u16,
    /// Ports for its other servers.
    pub further: &'a [u16],
    /// The private directory, from the root on.
    pub dir: &'a Path,
    /// The site in place of its own; none: its own.
    pub site: Option<&'a Path>,
    /// Certificate and key in place of its own.
    pub certificate: (&'a Path, &'a Path),
    /// Addresses of the stand-ins.
    pub stand_ins: StandIns<SocketAddr>,
    /// Addresses behind it that may be asked themselves, as `HOST:PORT` or as the configuration writes them.
    pub allowed: &'a [String],
    /// Directory in which the program itself begins relative paths.
    pub prefix: &'a Path,
    /// Directives that the copy gets besides, where its first servers are.
    pub lines: &'a str,
}

impl Setting<'static> {
    /// A setting to see by what a copy would change.
    pub fn unreal(entrance: u16) -> Self {
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        let path = Path::new("/");
        Self {
            address: Ipv4Addr::LOCALHOST,
            entrance,
            port: 1,
            further: &[2, 3, 4, 5, 6, 7, 8, 9],
            dir: path,
            site: Some(path),
            certificate: (path, path),
            stand_ins: StandIns { http: nowhere, https: nowhere, fastcgi: nowhere },
            allowed: &[],
            prefix: path,
            lines: "",
        }
    }
}

impl Setting<'_> {
    /// Whether the user lets this address be asked itself.
    pub(crate) fn allows(&self, address: &str, tls: bool) -> bool {
        let usual = if tls { 443 } else { 80 };
        self.allowed.iter().any(|allowed| allowed == address || *allowed == format!("{address}:{usual}"))
    }

    /// The private copy of a file.
    pub(crate) fn copy_of(&self, path: &Path) -> PathBuf {
        self.dir.join(TREE).join(path.strip_prefix("/").unwrap_or(path))
    }
}

/// The server that a measurement asks, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrance {
    /// The port that it listens on where it runs.
    pub port: u16,
    /// It speaks TLS there.
    pub tls: bool,
    /// A name that leads to it; none: it has none, or is asked by the one that was given.
    pub host: Option<String>,
    /// `FILE:LINE` of its block.
    pub place: String,
    /// Files of its certificates, as far as they are named; none: it has none, or gets them by itself.
    pub certificates: Vec<PathBuf>,
    /// What makes the pages that it has no file for; none: nothing.
    pub application: Option<Application>,
}
