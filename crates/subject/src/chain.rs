//! The chain of an arm: its server and all fronts before it. Started from the server outwards, read as one, ended from
//! the outside inwards.
//!
//! Measuring side, cold path; only the readings are between slices. Every part is a subject of its own, under a
//! supervisor of its own; each front sends its requests to the next part inwards. Knows no product.

use crate::SubjectError;
use crate::config::ConfigError;
use crate::context::Context;
use crate::cpu::{CpuMissing, CpuReading};
use crate::front::{FrontKind, FrontSpec};
use crate::running::{Running, StopReport};
use crate::spec::Spec;
use crate::stand_in;
use crate::start::start;
use crate::{LimitsHit, ProgramTime, attached};
use bakeoff_units::Nanos;
use std::net::SocketAddr;
use std::path::Path;

/// A server and its fronts, running. Dropping it ends all of it.
#[derive(Debug)]
pub struct Chain {
    /// Fronts with a port of their own, outermost first. Dropped before the parts they send requests to.
    fronts: Vec<Running>,
    /// Attached programs, which have no port, in the order of the plan.
    attached: Vec<Running>,
    server: Running,
    /// What plays the servers behind an adopted configuration. Its CPU is nobody's.
    stand_ins: Vec<Running>,
}

/// Starts the server, then its fronts from the innermost to the outermost; `fronts`: outermost first. Nothing is left
/// when this fails, except what was printed.
///
/// # Errors
/// As [`start`], naming the part that did not start.
pub fn start_chain(spec: &Spec, fronts: &[FrontSpec], context: &Context<'_>) -> Result<Chain, SubjectError> {
    if spec.speaks_tls() && fronts.iter().any(|front| front.what.has_port()) {
        return Err(SubjectError::FrontAsksPlain { arm: context.arm.clone() });
    }
    let (stand_ins, addresses) = stand_in::start_for(spec, context)?;
    let context = &Context { stand_ins: addresses, ..context.clone() };
    let mut chain =
        Chain { fronts: Vec::new(), attached: Vec::new(), server: start(spec, context)?, stand_ins };
    for front in fronts {
        if let FrontKind::Attached { argv, ready, file } = &front.what {
            let what = (argv.as_slice(), ready.as_deref(), file.as_ref());
            let running = attached::start(front, what, &chain.server, context)?;
            chain.attached.push(running);
        }
    }
    for front in fronts.iter().rev() {
        let upstream = chain.entry().address;
        if let Some(spec) = front.what.spec(upstream) {
            let running = start_front(front, &spec, upstream, context)?;
            chain.fronts.insert(0, running);
        }
    }
    Ok(chain)
}

/// Starts one front by its spec, with `upstream` as the address it sends requests to.
fn start_front(
    front: &FrontSpec,
    spec: &Spec,
    upstream: SocketAddr,
    around: &Context<'_>,
) -> Result<Running, SubjectError> {
    let mut context = around.beside_the_server(&front.name);
    let values = [
        ("upstream", upstream.to_string()),
        ("upstream_host", upstream.ip().to_string()),
        ("upstream_port", upstream.port().to_string()),
    ];
    context.values.extend(values.map(|(name, value)| (name.to_owned(), value)));
    if let FrontKind::Product { config, directives, .. } = &front.what {
        context.directives.clone_from(directives);
        if let Some(config) = config {
            demand_upstream(config, &context)?;
        }
    }
    let mut running = start(spec, &context)?;
    running.layers.extend(front.standing(&running.substitutions));
    Ok(running)
}

/// A configuration that does not name its upstream would send requests to some other server.
fn demand_upstream(config: &Path, context: &Context<'_>) -> Result<(), SubjectError> {
    let text = context.read(config, &context.arm)?;
    let names = ["{upstream}", "{upstream_port}", "{origin}", "{origin_port}"];
    if text
        .lines()
        .any(|line| names.iter().any(|name| line.split('#').next().unwrap_or_default().contains(name)))
    {
        return Ok(());
    }
    let (source, path) = (ConfigError::NoUpstream, context.at_home(config));
    Err(SubjectError::Config { arm: context.arm.clone(), origin: path.display().to_string(), source })
}

impl Chain {
    /// The server behind all fronts.
    pub const fn server(&self) -> &Running {
        &self.server
    }

    /// Fronts with a port of their own, outermost first.
    pub fn fronts(&self) -> &[Running] {
        &self.fronts
    }

    /// Whether anything stands before the server.
    pub fn has_front(&self) -> bool {
        !self.fronts.is_empty() || !self.attached.is_empty()
    }

    /// The part that clients send requests to.
    pub fn entry(&self) -> &Running {
        self.fronts.first().unwrap_or(&self.server)
    }

    fn before(&self) -> impl Iterator<Item = &Running> {
        self.fronts.iter().chain(&self.attached)
    }

    /// All parts, the server last.
    pub fn parts(&self) -> impl Iterator<Item = &Running> {
        self.before().chain([&self.server])
    }

    /// CPU of all parts.
    ///
    /// # Errors
    /// The reason why some part has no reading.
    pub fn cpu(&self) -> Result<CpuReading, CpuMissing> {
        self.before().try_fold(self.server.cpu()?, |sum, part| Ok(together(sum, part.cpu()?)))
    }

    /// CPU of the fronts.
    ///
    /// # Errors
    /// As [`Self::cpu`]; also when there is no front.
    pub fn cpu_of_fronts(&self) -> Result<CpuReading, CpuMissing> {
        let mut parts = self.before();
        let first = parts.next().ok_or(CpuMissing::Ended)?.cpu()?;
        parts.try_fold(first, |sum, part| Ok(together(sum, part.cpu()?)))
    }

    /// Number of times the server met its limits.
    pub fn limits_hit(&self) -> LimitsHit {
        self.server.limits_hit()
    }

    /// Sum of the violations that all parts report; `None` when none counts them.
    pub fn violations_noted(&self) -> Option<u64> {
        self.parts().filter_map(Running::violations_noted).reduce(|sum, noted| sum + noted)
    }

    /// Runs and CPU of programs in the kernel so far, as the layers of all parts report it; `None` when none does.
    /// Waits until it is written down, a third of a second at most for each.
    pub fn program_time(&self) -> Option<ProgramTime> {
        self.parts().filter_map(Running::program_time).reduce(|sum, more| sum + more)
    }

    /// The processes of all parts at this moment.
    pub fn processes(&self) -> Vec<u32> {
        self.parts().flat_map(Running::processes).collect()
    }

    /// The supervisor of the server; `None` if bakeoff did not start it.
    pub fn supervisor_process(&self) -> Option<u32> {
        self.server.supervisor_process()
    }

    /// Time from start to ready, one part after the other.
    pub fn start_time(&self) -> Nanos {
        self.parts().fold(Nanos::ZERO, |sum, part| sum + part.start_time)
    }

    /// An error when some part has ended, naming it.
    ///
    /// # Errors
    /// As [`Running::alive`].
    pub fn alive(&self) -> Result<(), SubjectError> {
        self.parts().chain(&self.stand_ins).try_for_each(Running::alive)
    }

    /// Ends all parts, the outermost first; one report for all of them.
    pub fn stop(self) -> StopReport {
        let Self { fronts, attached, server, stand_ins } = self;
        let parts = fronts.into_iter().chain(attached).chain([server]).map(Running::stop);
        let report = parts.fold(StopReport::default(), |sum, part| StopReport {
            killed: sum.killed + part.killed,
            left: sum.left + part.left,
            user: sum.user + part.user,
            system: sum.system + part.system,
        });
        stand_ins.into_iter().for_each(stand_in::end);
        report
    }
}

/// Sum of two readings. The source is that of the first; they are started alike.
fn together(a: CpuReading, b: CpuReading) -> CpuReading {
    CpuReading { nanos: a.nanos + b.nanos, source: a.source, resolution: a.resolution.max(b.resolution) }
}
