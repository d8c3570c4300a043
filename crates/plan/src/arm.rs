//! One arm of a checked plan: its server or command, and its load.

use super::{ArmCalls, ArmFiles, ClientPlan, Fresh, LimitsPlan, RequestWork};
use bakeoff_loadgen::{LocalAddresses, Trust};
use bakeoff_subject::{FrontSpec, KeyKind, LayerSpec, Spec, WrapSpec};
use bakeoff_units::Nanos;
use bakeoff_workload::GetUrl;
use std::collections::BTreeMap;

/// One arm.
#[derive(Clone, Debug)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// What it is, in a few words.
    pub says: Option<String>,
    /// The kind of arm.
    pub what: ArmKind,
    /// Whether the subject holds the site rebuilt from the workload, so that replies can be judged.
    pub serves_site: bool,
    /// Authority that the generator trusts; `None`: the throw-away authority.
    pub trust: Option<Trust>,
    /// Kind of its throw-away certificate, where the plan names one.
    pub certificate: Option<KeyKind>,
    /// Time to get ready.
    pub start_timeout: Nanos,
    /// Level of each factor of the plan.
    pub levels: Vec<usize>,
    /// Values for `{factor}` in its configuration.
    pub values: BTreeMap<String, String>,
    /// Servers: layers between the site and the server, from the files up.
    pub layers: Vec<LayerSpec>,
    /// Servers: fronts before the server, outermost first.
    pub fronts: Vec<FrontSpec>,
    /// Wraps through which the server or the command is started, outermost first.
    pub wraps: Vec<WrapSpec>,
    /// Servers: run before each start.
    pub prepare: Vec<Vec<String>>,
    /// Lines for the server block of our own configuration.
    pub directives: Option<String>,
    /// nginx: lines for the `http` block of our own configuration.
    pub http_directives: Option<String>,
    /// Addresses behind a running server's configuration that may be asked themselves.
    pub allowed_upstreams: Vec<String>,
    /// Its resource limits.
    pub limits: LimitsPlan,
    /// Command that tells whether the layer is on.
    pub proof: Option<Vec<String>>,
    /// What is new in each slice.
    pub fresh: Fresh,
    /// The arm whose first use this is.
    pub first_use_of: Option<String>,
    /// URLs in place of the workload's.
    pub urls: Option<Vec<GetUrl>>,
    /// Servers: client settings of its requests.
    pub client: ClientPlan,
    /// The same for each population, in the plan's order.
    pub populations: Vec<ClientPlan>,
    /// Servers: requests of a slice, in place of the workload's.
    pub slice_requests: Option<u64>,
    /// Servers: the load, if that is not the same for all.
    pub load: Option<RequestWork>,
}

/// Kinds of arms.
#[derive(Clone, Debug, PartialEq)]
pub enum ArmKind {
    /// A server.
    Server(Spec),
    /// A command that is measured from start to exit.
    Command(ArmCommand),
    /// A directory.
    Files(ArmFiles),
    /// A process that makes system calls.
    Calls(ArmCalls),
}

/// The commands of an arm; `{dir}` stands for the arm's private directory.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmCommand {
    /// The measured command.
    pub argv: Vec<String>,
    /// Once, before the first run.
    pub setup: Vec<Vec<String>>,
    /// Before each run.
    pub prepare: Vec<Vec<String>>,
    /// Once, after the last run.
    pub cleanup: Vec<Vec<String>>,
    /// Added to the environment.
    pub env: Vec<(String, String)>,
}

/// Whether clients speak TLS with the outermost front that has a port, or with the server itself.
pub(super) fn is_asked_over_tls(server: &Spec, fronts: &[FrontSpec]) -> bool {
    let outermost = fronts.iter().find(|front| front.what.has_port());
    outermost.map_or_else(|| server.speaks_tls(), |front| front.what.speaks_tls())
}

impl Arm {
    /// Local addresses that its connections come from, of each population, if the plan names any.
    pub fn sources(&self) -> impl Iterator<Item = &LocalAddresses> {
        let all =
            if self.populations.is_empty() { std::slice::from_ref(&self.client) } else { &self.populations };
        all.iter().map(|client| &client.from).filter(|from| from.count() > 0)
    }

    /// Its load, where `common` is that of all arms without a load of their own.
    pub fn work<'w>(&'w self, common: &'w RequestWork) -> &'w RequestWork {
        self.load.as_ref().unwrap_or(common)
    }

    /// Whether clients speak TLS with it.
    pub fn is_asked_over_tls(&self) -> bool {
        matches!(&self.what, ArmKind::Server(server) if is_asked_over_tls(server, &self.fronts))
    }

    /// Whether it is the same but for its name and the labels of its levels.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let ways = |arm: &Self| (arm.fresh, arm.limits, arm.first_use_of.clone());
        // A configuration may hold any of the values.
        self.what == other.what
            && self.trust == other.trust
            && self.certificate == other.certificate
            && self.values == other.values
            && self.prepare == other.prepare
            && self.layers == other.layers
            && self.fronts == other.fronts
            && self.wraps == other.wraps
            && self.directives == other.directives
            && self.http_directives == other.http_directives
            && self.allowed_upstreams == other.allowed_upstreams
            && self.urls == other.urls
            && self.client == other.client
            && self.populations == other.populations
            && ways(self) == ways(other)
    }
}
