//! Surroundings of a subject's start: what the run gives to it.

use crate::SubjectError;
use crate::certificate::Certificate;
use crate::cpu::CpuChoice;
use crate::limits::Limits;
use crate::stack::spec::LayerSpec;
use crate::wrap::spec::WrapSpec;
use crate::written::Written;
use bakeoff_adopt::StandIns;
use bakeoff_sys::namespace::Namespace;
use bakeoff_units::Nanos;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The surroundings of one start. `Context::new` sets the defaults; the fields are there to be changed.
#[derive(Clone, Debug)]
pub struct Context<'a> {
    /// Name of the arm, for messages and directory names.
    pub arm: String,
    /// An existing directory; each start makes a fresh private one (mode 0755) inside and leaves it
    /// with what the server printed.
    pub base: PathBuf,
    /// Directory in which relative paths of the plan begin. A command also runs there; without it in its private
    /// directory.
    pub home: Option<PathBuf>,
    /// The site, an existing directory.
    pub root: PathBuf,
    /// The tree that the site's owner signed; the site itself, unless a plan plants differences.
    pub reference: PathBuf,
    /// Layers between the site and the server, from the files up. Built beforehand.
    pub layers: Vec<LayerSpec>,
    /// Commands put before the server's own, the outermost first.
    pub wraps: Vec<WrapSpec>,
    /// Files written into the private directory before anything is started there.
    pub files: Vec<Written>,
    /// Needed for TLS.
    pub certificate: Option<Certificate>,
    /// Cores for the subject and its children; empty: wherever bakeoff may run.
    pub cpus: Vec<usize>,
    /// The catalogue of objects that the origin serves.
    pub catalogue: Option<PathBuf>,
    /// Time that a start may take; 10 s.
    pub start_timeout: Nanos,
    /// Time that the subject may take to end when asked, before it is killed; 2 s.
    pub grace: Nanos,
    /// Source to read its CPU from.
    pub cpu_source: CpuChoice,
    /// Most connections that will be open at once; 512. Apache gets a thread for each: the figure
    /// itself costs little, but context switches are read thread by thread.
    pub connections: usize,
    /// The port that it listens on; `None`: a free one, another at each start.
    pub port: Option<u16>,
    /// Bytes added to its environment: moves its stack, so that layout luck can be sampled.
    pub padding: usize,
    /// Substitutions besides those bakeoff knows, such as the levels of a plan's factors: a name
    /// (lower-case letter, then lower-case letters, digits and `_`) and what is put in for it. The
    /// built-in names cannot be replaced.
    pub values: BTreeMap<String, String>,
    /// Commands, no shell, run in order before each start, in the new private directory's world: with its substitutions
    /// and the server's environment, as the server's user, on its cores, each for at most `start_timeout`. They begin
    /// in `home` as a command does. Processes they leave running are ended. One that fails ends the start.
    pub prepare: Vec<Vec<String>>,
    /// Lines for the server block of our own configuration of a product, with substitutions.
    pub directives: Option<String>,
    /// nginx: lines for the `http` block of our own configuration, with substitutions.
    pub http_directives: Option<String>,
    /// Addresses behind a server that may be asked themselves, where its configuration is adopted.
    pub allowed_upstreams: Vec<String>,
    /// Stand-ins for the others, as far as they were started.
    pub stand_ins: StandIns<Option<SocketAddr>>,
    /// The `Host` of most requests: by it the server of an adopted configuration is found.
    pub asked_host: Option<String>,
    /// Whether our own configuration of a product enables HTTP/2: over TLS as client and server agree, else with prior
    /// knowledge. The origin always does; other subjects are what they are.
    pub http2: bool,
    /// Time that caches may keep replies of our own servers, if something stands before those.
    pub max_age: Option<Nanos>,
    /// The most that the subject may use. It does not hold for `prepare`.
    pub limits: Limits,
    /// The network that the subject is in; none: bakeoff's own.
    pub network: Option<Network>,
    /// The address that it listens on in bakeoff's own network.
    pub address: Ipv4Addr,
    /// The bakeoff executable for supervisor and origin; none: the running one.
    pub executable: Option<PathBuf>,
    /// Set when the user wants to stop; waiting ends then.
    pub interrupted: &'a AtomicBool,
}

/// A network of the subject's own.
#[derive(Clone, Debug)]
pub struct Network {
    /// The namespace the subject is started in.
    pub namespace: Namespace,
    /// The address it listens on there.
    pub address: Ipv4Addr,
}

impl<'a> Context<'a> {
    /// Surroundings of another program of the arm, which has none of the settings that belong to the server.
    pub(crate) fn beside_the_server(&self, name: &str) -> Self {
        Self {
            arm: format!("{}.{name}", self.arm),
            layers: Vec::new(),
            wraps: Vec::new(),
            prepare: Vec::new(),
            directives: None,
            http_directives: None,
            http2: false,
            padding: 0,
            ..self.clone()
        }
    }

    /// The defaults.
    pub fn new(arm: &str, base: &Path, root: &Path, interrupted: &'a AtomicBool) -> Self {
        Self {
            arm: arm.to_owned(),
            base: base.to_owned(),
            home: None,
            root: root.to_owned(),
            reference: root.to_owned(),
            layers: Vec::new(),
            wraps: Vec::new(),
            files: Vec::new(),
            certificate: None,
            cpus: Vec::new(),
            catalogue: None,
            start_timeout: Nanos::from_secs(10),
            grace: Nanos::from_secs(2),
            cpu_source: CpuChoice::Auto,
            connections: 512,
            port: None,
            padding: 0,
            values: BTreeMap::new(),
            prepare: Vec::new(),
            directives: None,
            http_directives: None,
            allowed_upstreams: Vec::new(),
            stand_ins: StandIns::default(),
            asked_host: None,
            http2: false,
            max_age: None,
            limits: Limits::default(),
            network: None,
            address: Ipv4Addr::LOCALHOST,
            executable: None,
            interrupted,
        }
    }

    /// A path of the plan as the file system takes it.
    pub(crate) fn at_home(&self, path: &Path) -> PathBuf {
        self.home.as_deref().map_or_else(|| path.to_owned(), |home| home.join(path))
    }

    /// The text of a configuration: one that the plan brings, or a file of the user's. `arm`: the arm that needs it,
    /// for messages.
    pub(crate) fn read(&self, path: &Path, arm: &str) -> Result<String, SubjectError> {
        if let Some(own) =
            Written::meant(path).and_then(|name| self.files.iter().find(|file| file.name == name))
        {
            return Ok(own.text.clone());
        }
        let path = self.at_home(path);
        std::fs::read_to_string(&path).map_err(|source| SubjectError::Read {
            arm: arm.to_owned(),
            path,
            source,
        })
    }

    /// The address that the subject listens on.
    pub(crate) fn host(&self) -> Ipv4Addr {
        self.network.as_ref().map_or(self.address, |network| network.address)
    }

    /// Does something in the subject's network: processes that are started there stay there.
    pub(crate) fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, SubjectError> + Send,
    ) -> Result<T, SubjectError> {
        let Some(network) = &self.network else { return work() };
        let entered = network.namespace.run(work);
        entered.map_err(|source| SubjectError::Network { arm: self.arm.clone(), source })?
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    pub(crate) fn executable(&self) -> std::io::Result<PathBuf> {
        self.executable.clone().map_or_else(bakeoff_sys::process::own_executable, Ok)
    }

    pub(crate) fn supervisor_command(&self) -> std::io::Result<Vec<OsString>> {
        Ok(vec![self.executable()?.into(), crate::supervisor::WORD.into()])
    }
}

/// The whole environment of a subject: `PATH` of bakeoff, `HOME` and `TMPDIR` the private
/// directory, `LANG=C.UTF-8`, then `added`, then the padding. (The supervisor adds its mark,
/// `BAKEOFF_SUPERVISOR`.)
pub(crate) fn environment(dir: &Path, added: Vec<(String, String)>, padding: usize) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/local/bin:/usr/bin:/bin".to_owned());
    let dir = dir.display().to_string();
    let mut all: Vec<(String, String)> =
        [("PATH", path), ("HOME", dir.clone()), ("TMPDIR", dir), ("LANG", "C.UTF-8".to_owned())]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
    all.extend(added);
    if padding > 0 {
        all.push(("BAKEOFF_PADDING".to_owned(), "x".repeat(padding)));
    }
    all
}
