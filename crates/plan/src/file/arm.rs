//! `[arm.NAME]` as typed. The groups of keys that it has decide its kind, which is known only when its levels are put
//! over it.

use super::client::{Http2Entry, TlsClientSection, Words};
use super::directory;
use super::extent::Extents;
use super::keys::TableKeys;
use super::spanned::Spanned;
use super::workload::{CommandSection, OneOrMany, UrlEntry, WorkloadSection};
use crate::PlanError;
use crate::error::suggestion;
use crate::needs::Need;
use bakeoff_subject::Product;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Name of our own server in plans.
const ORIGIN: &str = "origin";

/// `limits = { ... }` of an arm.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsSection {
    /// Memory, page cache included, such as "512MB".
    pub memory: Option<Spanned<String>>,
    /// CPU time in cores, such as 0.5.
    pub cpus: Option<Spanned<f64>>,
    /// Reading from storage, such as "20MB/s".
    pub read: Option<Spanned<String>>,
    /// Writing to storage.
    pub write: Option<Spanned<String>>,
}

/// An arm with its levels.
#[derive(Clone, Debug)]
pub(crate) struct ArmSection {
    /// Its kind.
    pub what: ArmWhat,
    /// Groups of keys that it shares with other kinds.
    pub has: ArmGroups,
}

/// Kind of an arm, with the keys of that kind alone.
#[derive(Clone, Debug)]
pub(crate) enum ArmWhat {
    /// `server = "origin"`
    Origin(OriginSection),
    /// Any other `server`.
    Product(Product, ProductSection),
    /// A server that is a `command`.
    Command(Spanned<Vec<String>>, ProgramSection),
    /// A server with a `url`.
    Url(Spanned<String>, UrlSection),
    /// In `command` workloads.
    Run(RunSection),
    /// In `files` workloads.
    Directory(Box<DirectorySection>),
    /// In `calls` workloads.
    Calls(CallerSection),
}

/// Groups of keys that several kinds have; the others say nothing of them.
#[derive(Clone, Debug, Default, JsonSchema)]
pub(crate) struct ArmGroups {
    /// What it is started through.
    #[schemars(flatten)]
    pub start: StartSection,
    /// How it stands when it is started.
    #[schemars(flatten)]
    pub stand: StandSection,
    /// What stands under it.
    #[schemars(flatten)]
    pub under: UnderSection,
    /// How it is asked.
    #[schemars(flatten)]
    pub asked: AskedSection,
    /// What tells of it.
    #[schemars(flatten)]
    pub told: ToldSection,
    /// Its place in the plan.
    #[schemars(flatten)]
    pub row: RowSection,
}

/// Of all arms.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct RowSection {
    /// Programs, or paths of other files, without which a run leaves the arm out, and says so; those of an arm and of its levels
    /// add up.
    pub needs: Option<Spanned<Vec<Need>>>,
    /// What the arm is, in a few words, for reports.
    pub says: Option<Spanned<String>>,
}

/// `[arm.NAME]`, and `[level.FACTOR.LEVEL]` with the same keys.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema alone")]
pub(super) struct AnyArm {
    #[schemars(flatten)]
    which: WhichSection,
    #[schemars(flatten)]
    origin: OriginSection,
    #[schemars(flatten)]
    product: ProductSection,
    #[schemars(flatten)]
    program: ProgramSection,
    #[schemars(flatten)]
    url: UrlSection,
    #[schemars(flatten)]
    run: RunSection,
    #[schemars(flatten)]
    directory: DirectorySection,
    #[schemars(flatten)]
    has: ArmGroups,
}

/// What server an arm is: one of these.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WhichSection {
    /// `origin`, or a product that serves files, such as `nginx`.
    pub server: Option<Spanned<String>>,
    /// A server of your own: program and arguments, the same substitutions. In the command workload: what is measured.
    pub command: Option<Spanned<Vec<String>>>,
    /// A running server.
    pub url: Option<Spanned<String>>,
}

/// `server = "origin"`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct OriginSection {
    /// origin: extra CPU time on each request, such as "2us".
    pub burn: Option<Spanned<String>>,
    /// origin: extra CPU time on each request for every further one in flight at its thread: a cost that grows with the load.
    pub burn_in_flight: Option<Spanned<String>>,
    /// origin: extra CPU time each time a thread wakes up: a cost per request that falls with the load. The baseline needs "0us".
    pub burn_per_wakeup: Option<Spanned<String>>,
}

/// Any other `server`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ProductSection {
    /// A product: your configuration; `{host}`, `{port}`, `{root}`, `{cert}`, `{key}` and `{dir}` are filled in. One
    /// without any of these is that of a running server: a private copy runs, and nothing of that server is touched.
    pub config: Option<Spanned<String>>,
    /// A product: lines for the server block of our own configuration, with the same substitutions.
    pub directives: Option<Spanned<String>>,
    /// nginx: lines for the `http` block of our own configuration, before the server block, with the same substitutions.
    pub http_directives: Option<Spanned<String>>,
    /// Your configuration, of a running server: addresses behind it that may be asked themselves, `HOST:PORT` each. A stand-in
    /// answers for all others.
    pub allow_upstream: Option<Spanned<Vec<String>>>,
}

/// A server that is a `command`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct ProgramSection {
    /// Environment variables of the command.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// command server: a path that answers below 500 when it is ready. Default: its port accepts. files workload: `serve` is
    /// ready when it prints a line that begins so. Default: at once.
    pub ready: Option<Spanned<String>>,
}

/// A server with a `url`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct UrlSection {
    /// url: its process, so that its CPU can be read.
    pub pid: Option<Spanned<u32>>,
}

/// Of what bakeoff starts, servers and commands.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct StartSection {
    /// Words put before those of the server or the command.
    pub wrap: Option<Spanned<Vec<String>>>,
    /// What the server or the command is started through, outermost first: names of `[wrap.NAME]`.
    pub wraps: Option<Spanned<Vec<Spanned<String>>>>,
}

/// Of servers that bakeoff starts.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct StandSection {
    /// Whether the server speaks TLS. Default false.
    pub tls: Option<Spanned<bool>>,
    /// Kind of the key of its throw-away certificate: "p-256" (default), "p-384", "ed25519", "rsa-2048", "rsa-3072" or
    /// "rsa-4096".
    pub certificate: Option<Spanned<String>>,
    /// Servers: run before each start. command workload: instead of the workload's.
    pub prepare: Option<Spanned<OneOrMany>>,
    /// Time to get ready. Default "10s".
    pub start_timeout: Option<Spanned<String>>,
    /// What the subject may use.
    pub limits: Option<Spanned<LimitsSection>>,
}

/// Of what reads files.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct UnderSection {
    /// Servers: what stands between the site and the server, from the files up: names of
    /// `[layer.NAME]`, or of the layers that come with bakeoff.
    pub layers: Option<Spanned<Vec<Spanned<String>>>>,
}

/// Of servers and directories.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ToldSection {
    /// A command that tells whether the layer is on: it exits with 0, and may print `full`,
    /// `partial: REASON` or `none: REASON`.
    pub proof: Option<Spanned<Vec<String>>>,
}

/// Of all servers.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct AskedSection {
    /// url, and servers with certificates of their own: PEM file with the authority.
    pub cacert: Option<Spanned<String>>,
    /// Accept any certificate. Default false.
    pub insecure: Option<Spanned<bool>>,
    /// Servers, instead of the workload's: lines added to the head of every request, such as ["Accept-Encoding: gzip"].
    pub headers: Option<Spanned<Vec<String>>>,
    /// get: instead of the workload's.
    pub urls: Option<Spanned<Vec<Spanned<UrlEntry>>>>,
    /// Instead of the workload's.
    pub keep_alive: Option<Spanned<bool>>,
    /// Servers, instead of the workload's: what the load generator asks of TLS, where an arm speaks it. Key by key.
    pub tls_client: Option<Spanned<TlsClientSection>>,
    /// Servers, instead of the workload's: HTTP/2: true, or `{ streams = 10 }` for so many requests
    /// in flight on a connection. Over TLS as the server agrees to it, else as known beforehand.
    pub http2: Option<Spanned<Http2Entry>>,
    /// Servers, instead of the workload's: most requests of a connection.
    pub requests_per_connection: Option<Spanned<u64>>,
    /// Servers, instead of the workload's: local addresses of the connections, used in turn, such as
    /// "127.0.0.0/16" or a list of ranges; each has ports of its own.
    pub from: Option<Spanned<Words>>,
    /// Servers, instead of the workload's: a connection that does not stand after this long has failed.
    pub connect_timeout: Option<Spanned<String>>,
    /// Servers: requests of a slice of this arm, instead of `[experiment]`'s.
    pub slice_requests: Option<Spanned<Extents<u64>>>,
    /// What is new in every slice: `connection`, `start` (the server itself) or `page-cache`.
    pub fresh: Option<Spanned<String>>,
    /// This arm is the first use of that one: the report tells what a first use costs more, and
    /// after how many requests that no longer matters.
    pub first_use_of: Option<Spanned<String>>,
    /// Servers: what stands before the server, outermost first: products such as `varnish` or `haproxy`, or names of
    /// `[front.NAME]`; `none` is nothing.
    pub front: Option<Spanned<Vec<Spanned<String>>>>,
}

/// Of commands that run to their end.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct RunSection {
    /// A server of your own: program and arguments, the same substitutions. In the command workload: what is measured.
    pub command: Option<Spanned<Vec<String>>>,
    /// Environment variables of the command.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
    /// command workload: instead of the workload's. files workload: run once before anything is
    /// written; what it leaves running belongs to the arm.
    pub setup: Option<Spanned<OneOrMany>>,
    /// Servers: run before each start. command workload: instead of the workload's.
    pub prepare: Option<Spanned<OneOrMany>>,
    /// command workload: instead of the workload's. files workload: run once at the end.
    pub cleanup: Option<Spanned<OneOrMany>>,
}

/// Of directories.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct DirectorySection {
    /// files workload: one that comes with bakeoff: `remotefs-plain`, `remotefs`, `remotefs-chain` or `sshfs`. What else the arm says
    /// stands in place of its keys.
    #[expect(dead_code, reason = "its keys are put under the arm's before these are read")]
    pub directory: Option<Spanned<String>>,
    /// files workload: the directory under test, below `{dir}` or that of a mounted file system.
    /// Default "{dir}", the arm's private directory.
    pub path: Option<Spanned<String>>,
    /// files workload: a daemon that runs as long as the arm, at the other end of the link where the plan has one; started before
    /// `setup`. It listens on `{host}:{port}`.
    pub serve: Option<Spanned<Vec<String>>>,
    /// command server: a path that answers below 500 when it is ready. Default: its port accepts. files workload: `serve` is
    /// ready when it prints a line that begins so. Default: at once.
    pub ready: Option<Spanned<String>>,
    /// files workload: where `path` lies on the side of `serve`. Default: nobody knows.
    pub served: Option<Spanned<String>>,
    /// files workload with `denied` violations: run once the files are written; makes those in `{denied}`, a directory below
    /// `path`, such that nobody may open them.
    pub deny: Option<Spanned<OneOrMany>>,
    /// files workload with `first` caches: a file with a line `NAME NUMBER` for each of the layer's counters, of which
    /// `connect-ns`, `handshake-ns` and `verify-ns` are told of each operation.
    pub status: Option<Spanned<String>>,
    /// command workload: instead of the workload's. files workload: run once before anything is
    /// written; what it leaves running belongs to the arm.
    pub setup: Option<Spanned<OneOrMany>>,
    /// files workload with `cold`, `remote` or `first` caches: run each time before what else is dropped.
    pub drop: Option<Spanned<OneOrMany>>,
    /// command workload: instead of the workload's. files workload: run once at the end.
    pub cleanup: Option<Spanned<OneOrMany>>,
    /// Environment variables of the command.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
}

/// Of processes that make system calls.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub(crate) struct CallerSection {
    /// Environment variables of the command.
    pub env: Option<Spanned<BTreeMap<String, String>>>,
}

impl AnyArm {
    /// Whether all keys are those of some arm, and what they hold.
    pub(super) fn check(keys: &TableKeys<'_>) -> Result<(), PlanError> {
        let mut keys = keys.clone();
        let _: Self = Self {
            which: keys.group()?,
            origin: keys.group()?,
            product: keys.group()?,
            program: keys.group()?,
            url: keys.group()?,
            run: keys.group()?,
            directory: keys.group()?,
            has: ArmGroups::all(&mut keys)?,
        };
        keys.none_left("here", &[])
    }
}

impl ArmGroups {
    fn all(keys: &mut TableKeys<'_>) -> Result<Self, PlanError> {
        let (start, stand, under) = (keys.group()?, keys.group()?, keys.group()?);
        Ok(Self { start, stand, under, asked: keys.group()?, told: keys.group()?, row: keys.group()? })
    }

    /// The groups of a kind.
    fn of(what: &ArmWhat, keys: &mut TableKeys<'_>) -> Result<Self, PlanError> {
        let mut has = Self::default();
        match what {
            ArmWhat::Origin(_) => {
                (has.start, has.stand) = (keys.group()?, keys.group()?);
                (has.asked, has.told) = (keys.group()?, keys.group()?);
            }
            ArmWhat::Product(..) | ArmWhat::Command(..) => has = Self::all(keys)?,
            ArmWhat::Url(..) => (has.asked, has.told) = (keys.group()?, keys.group()?),
            ArmWhat::Run(_) => (has.start, has.under) = (keys.group()?, keys.group()?),
            ArmWhat::Directory(_) => has.told = keys.group()?,
            ArmWhat::Calls(_) => has.start = keys.group()?,
        }
        if !matches!(what, ArmWhat::Product(..) | ArmWhat::Command(..)) {
            has.row = keys.group()?;
        }
        Ok(has)
    }
}

impl RunSection {
    /// Defaults of an arm come from the workload.
    fn or(self, w: &CommandSection) -> Self {
        Self {
            command: self.command.or_else(|| w.command.clone()),
            setup: self.setup.or_else(|| w.setup.clone()),
            prepare: self.prepare.or_else(|| w.prepare.clone()),
            cleanup: self.cleanup.or_else(|| w.cleanup.clone()),
            env: self.env,
        }
    }
}

impl ArmSection {
    /// `keys` are valid ones: those that the kind leaves belong to another.
    pub(crate) fn read(
        name: &Spanned<String>,
        mut keys: TableKeys<'_>,
        w: &WorkloadSection,
    ) -> Result<Self, PlanError> {
        let what = match w {
            WorkloadSection::Requests(_) => ArmWhat::server(name, &mut keys)?,
            WorkloadSection::Command(w) => ArmWhat::Run(keys.group::<RunSection>()?.or(w)),
            WorkloadSection::Files(w) => {
                keys = directory::named(keys, w)?;
                ArmWhat::Directory(Box::new(keys.group()?))
            }
            WorkloadSection::Calls(_) => ArmWhat::Calls(keys.group()?),
        };
        let has = ArmGroups::of(&what, &mut keys)?;
        let Some((key, span)) = keys.left() else { return Ok(Self { what, has }) };
        let (place, help) = match w {
            WorkloadSection::Requests(_) => ("for this arm", of_another_server(key)),
            WorkloadSection::Command(_) => {
                ("in a `command` workload", "an arm is a command, or wraps the workload's".to_owned())
            }
            WorkloadSection::Files(_) => (
                "in a `files` workload",
                "an arm is a `directory` or a `path`, with `serve`, `ready`, `served`, `setup`, `deny`, `drop`, `cleanup`, `env`, `status`, `needs` and `proof`".to_owned(),
            ),
            WorkloadSection::Calls(_) => (
                "in a `calls` workload",
                "an arm is what a process is started through: `wrap`, `wraps`, and `env`".to_owned(),
            ),
        };
        Err(keys.wrong(span, &format!("`{key}` has no meaning {place}"), &help))
    }
}

impl ArmWhat {
    fn server(name: &Spanned<String>, keys: &mut TableKeys<'_>) -> Result<Self, PlanError> {
        let which: WhichSection = keys.group()?;
        let (number, help) = match (which.server, which.command, which.url) {
            (Some(server), None, None) => return Self::named(&server, keys),
            (None, Some(command), None) => return Ok(Self::Command(command, keys.group()?)),
            (None, None, Some(url)) => return Ok(Self::Url(url, keys.group()?)),
            (None, None, None) => ("no", "give it `server`, `command` or `url`"),
            _ => ("more than one", "give it one of `server`, `command` and `url`"),
        };
        Err(keys.wrong(name.span(), &format!("the arm `{}` is {number} server", name.as_ref()), help))
    }

    fn named(server: &Spanned<String>, keys: &mut TableKeys<'_>) -> Result<Self, PlanError> {
        let word = server.as_ref().as_str();
        if word == ORIGIN {
            return Ok(Self::Origin(keys.group()?));
        }
        if let Some(product) = Product::servers().find(|product| product.label() == word) {
            return Ok(Self::Product(product, keys.group()?));
        }
        let help = if Product::fronts().any(|product| product.label() == word) {
            format!("it stands before one: give the arm a server, and `front = [\"{word}\"]`")
        } else {
            let known: Vec<&str> =
                [ORIGIN].into_iter().chain(Product::servers().map(Product::label)).collect();
            format!("{} (any other server is a `command`)", suggestion(word, &known))
        };
        Err(keys.wrong(server.span(), &format!("there is no server `{word}`"), &help))
    }
}

/// Reason why a key has no meaning for a server.
fn of_another_server(key: &str) -> String {
    match key {
        "tls" => "a url says https:// itself".to_owned(),
        "wrap" | "wraps" => {
            "a running server is not started through anything: use `server` or `command`".to_owned()
        }
        "layers" => {
            let products: Vec<String> =
                Product::servers().map(|product| format!("`{}`", product.label())).collect();
            format!("layers stand under {} or a `command`, which serve files", products.join(", "))
        }
        "setup" | "cleanup" => "it belongs to the `command` workload".to_owned(),
        "directory" | "path" | "drop" | "deny" | "serve" | "served" => {
            "it belongs to the `files` workload".to_owned()
        }
        _ => "take the line out".to_owned(),
    }
}

/// `[layer.NAME]`: commands that put something between the site and a server. Their words may hold
/// `{under}` (the files as what lies below shows them), `{dir}` (the layer's own directory, kept
/// over all starts of the arm), `{reference}` (the tree that the site's owner signed) and `{layers}`
/// (the executable with bakeoff's own layers).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LayerSection {
    /// Run once for each arm.
    pub build: Option<Spanned<OneOrMany>>,
    /// Run before each start; what they leave running or mounted belongs to the arm, and goes with it.
    pub up: Option<Spanned<OneOrMany>>,
    /// Runs as long as the arm.
    pub daemon: Option<Spanned<Vec<String>>>,
    /// The daemon is ready when it prints a line that begins so. Default: at once.
    pub ready: Option<Spanned<String>>,
    /// Where the server, or the next layer, finds the files. Default "{under}".
    pub root: Option<Spanned<String>>,
    /// A command that tells whether the layer is on, as the arm's own `proof`.
    pub proof: Option<Spanned<Vec<String>>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<Spanned<String>>,
    /// The counter of violations that it noticed.
    pub violations: Option<Spanned<String>>,
    /// Kernel threads that work for it, in words: the report says that their CPU is not the subject's.
    pub kernel_threads: Option<Spanned<String>>,
    /// As an arm's: every arm with this layer needs them.
    pub needs: Option<Spanned<Vec<Need>>>,
}
