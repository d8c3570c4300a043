//! One arm's server, running: started, proved, and ended; its output is kept.

use super::files::Files;
use super::heads::OriginWords;
use super::hits::SeenNumbers;
use crate::environment::{self, Placement};
use crate::run::link::Wire;
use crate::run::scratch::on_disk;
use crate::run::{Run, RunError};
use bakeoff_loadgen::{ClientIdentity, Engine, Lanes, Protocol, Station, Target, TlsOptions, Trust};
use bakeoff_plan::{Arm, ArmKind, ClientPlan, Fresh, LimitsPlan, Population, RequestWork};
use bakeoff_results::directory::LOGS;
use bakeoff_results::{ClientSetup, FrontSetup, ProofRecord, SubjectSetup};
use bakeoff_subject::{
    Chain, Context, FrontKind, Limits, Proof, Running, Spec, SubjectError, build_layers, prove, prove_layers,
    start_chain,
};
use bakeoff_units::Nanos;
use rustls::pki_types::ServerName;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A server with the generator towards it.
pub(super) struct ServerArm {
    pub(super) name: String,
    pub(super) running: Chain,
    pub(super) station: Station,
    /// One station more for each population, in the plan's order.
    pub(super) populations: Vec<Station>,
    /// Outcome of the TLS negotiation.
    pub(super) tls: Option<String>,
    /// Client settings of its requests.
    pub(super) client: ClientPlan,
    pub(super) fresh: Fresh,
    pub(super) proof: Option<ProofRecord>,
    /// A front has a store.
    pub(super) has_store: bool,
    /// Numbers of replies, if the server gives them any.
    pub(super) seen: Option<SeenNumbers>,
    /// Number of its start among all of the run.
    pub(super) instance: u64,
    /// Generators on other hosts begin with new connections.
    pub(super) renew: bool,
}

/// The address of an arm, and its name in TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) address: SocketAddr,
    pub(super) tls: bool,
    pub(super) server_name: String,
}

impl Entry {
    pub(super) fn of(running: &Running) -> Self {
        let (address, tls, server_name) = (running.address, running.tls, running.server_name.clone());
        Self { address, tls, server_name }
    }
}

/// Input of every start.
pub(super) struct Starter<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) work: &'a RequestWork,
    pub(super) placement: Placement,
    pub(super) wire: Wire,
    pub(super) files: Files,
    pub(super) scratch: PathBuf,
    /// Number of starts so far.
    pub(super) starts: Cell<u64>,
}

impl Starter<'_> {
    /// Starts an arm by its name as in `Plan::names`, with `padding` bytes added to its environment.
    pub(super) fn start(&self, name: &str, padding: usize) -> Result<ServerArm, RunError> {
        self.start_up(name, padding).map_err(|mut error| {
            if let RunError::Subject(subject) = &mut error
                && let Some(said) = subject.said_mut()
            {
                let logs = self.logs(name);
                keep_logs(&said.dir, &logs);
                said.dir = logs;
            }
            error
        })
    }

    fn start_up(&self, name: &str, padding: usize) -> Result<ServerArm, RunError> {
        let plan = self.run.plan;
        let unknown = || RunError::no_arm(name);
        let arm = plan.arm_of(name).ok_or_else(unknown)?;
        let ArmKind::Server(spec) = &arm.what else { return Err(unknown()) };
        let context = self.context(name, arm, padding);
        let is_origin = matches!(spec, Spec::Origin { .. });
        let words = self.work.max_age.filter(|_| is_origin).map(OriginWords::from_now);
        let running = start_chain(spec, &arm.fronts, &context)?;
        let proof = proof(arm, &running, &context)?;
        let client = self.with_made_certificate(&arm.client);
        let work = arm.work(self.work);
        let entry = Entry::of(running.entry());
        let cores = &self.placement.generator;
        let station = |work: &RequestWork, client: &ClientPlan| {
            let lanes = Lanes::all(cores.len().min(work.connections_of(client)));
            let ca = self.files.certificate.as_ref().map(|certificate| certificate.ca.as_path());
            let station = station((arm, &entry), (work, client), ca, (lanes, cores))?;
            Ok::<_, RunError>(station.inside(self.wire.of_generator()))
        };
        let of = |(population, client): (&Population, &ClientPlan)| {
            station(&population.work, &self.with_made_certificate(client))
        };
        let populations = work.populations.iter().zip(&arm.populations).map(of).collect::<Result<_, _>>()?;
        let station = station(work, &client)?;
        self.starts.set(self.starts.get() + 1);
        Ok(ServerArm {
            name: name.to_owned(),
            running,
            station,
            populations,
            tls: None,
            seen: self.numbers_replies(spec, &client).then(|| SeenNumbers::with(words)),
            client,
            instance: self.starts.get(),
            renew: false,
            fresh: arm.fresh,
            proof,
            has_store: arm.fronts.iter().any(|front| has_store(&front.what)),
        })
    }

    /// A client that shows the certificate of the run's authority, if it is to.
    fn with_made_certificate(&self, client: &ClientPlan) -> ClientPlan {
        let mut client = client.clone();
        if let Some(made) = self.files.certificate.as_ref().filter(|_| client.shows_made_certificate) {
            let (certificate, key) = made.identity();
            client.tls.identity = Some(ClientIdentity { certificate, key });
        }
        client
    }

    /// Whether a server numbers its replies: ours do if caches may stand before them. Heads of HTTP/2 are not kept.
    fn numbers_replies(&self, spec: &Spec, client: &ClientPlan) -> bool {
        spec.numbers_replies() && self.work.max_age.is_some() && client.protocol == Protocol::Http1
    }

    /// Whether any layer stands under the arm's server.
    pub(super) fn has_layers(&self, name: &str) -> bool {
        self.run.plan.arm_of(name).is_some_and(|arm| !arm.layers.is_empty())
    }

    /// Builds the layers of an arm, once for all its starts.
    pub(super) fn build(&self, name: &str) -> Result<(), RunError> {
        match self.run.plan.arm_of(name) {
            Some(arm) => Ok(build_layers(&self.context(name, arm, 0))?),
            None => Ok(()),
        }
    }

    fn context(&self, name: &str, arm: &Arm, padding: usize) -> Context<'_> {
        let root = self.files.own.get(name).unwrap_or(&self.files.root);
        Context {
            home: Some(self.run.plan.base_dir.clone()),
            certificate: self.files.certificate_of(arm),
            cpus: self.placement.subject.clone(),
            catalogue: self.files.catalogue.clone(),
            start_timeout: arm.start_timeout,
            connections: arm.work(self.work).connections_of_all(),
            network: self.wire.of_subjects(),
            address: self.run.generators.address.unwrap_or(Ipv4Addr::LOCALHOST),
            padding,
            values: arm.values.clone(),
            prepare: arm.prepare.clone(),
            directives: arm.directives.clone(),
            http_directives: arm.http_directives.clone(),
            allowed_upstreams: arm.allowed_upstreams.clone(),
            asked_host: arm.client.name_in_tls().map(str::to_owned),
            max_age: self.work.max_age,
            http2: arm.client.protocol != Protocol::Http1,
            limits: limits(&arm.limits),
            reference: self.files.reference.clone(),
            layers: arm.layers.clone(),
            wraps: arm.wraps.clone(),
            files: self.run.plan.written.clone(),
            ..Context::new(&on_disk(name), &self.scratch, root, self.run.interrupted)
        }
    }

    /// Directory that keeps the output of an arm.
    fn logs(&self, name: &str) -> PathBuf {
        self.run.dir.path().join(LOGS).join(on_disk(name))
    }

    /// An error that names the file of an arm's output, if that has been kept.
    pub(super) fn with_logs(&self, mut error: RunError) -> RunError {
        match &mut error {
            RunError::Subject(SubjectError::Died { arm, said, .. }) => {
                // A front has its own name behind the arm's.
                let of_front = arm.rsplit_once('.').map(|(arm, front)| self.logs(arm).join(front));
                said.dir = of_front.filter(|logs| logs.exists()).unwrap_or_else(|| self.logs(arm));
            }
            RunError::NoReplies { arm, printed, .. } if self.logs(arm).exists() => {
                *printed = format!(" What it printed is in {}.", self.logs(arm).display());
            }
            _ => {}
        }
        error
    }

    /// Ends an arm and keeps its output.
    pub(super) fn stop(&self, place: ServerArm) {
        let logs = self.logs(&place.name);
        let server = place.running.server().arm.clone();
        let of = |part: &Running| {
            let name = part.arm.rsplit('.').next().filter(|_| part.arm != server);
            Some((part.dir.clone()?, name.map_or_else(|| logs.clone(), |name| logs.join(name))))
        };
        let dirs: Vec<(PathBuf, PathBuf)> = place.running.parts().filter_map(of).collect();
        let _ = place.running.stop();
        for (dir, logs) in dirs {
            keep_logs(&dir, &logs);
            let _ = std::fs::remove_dir_all(&dir);
        }
    }
}

impl ServerArm {
    /// The set-up of its start, for `setup.json`.
    pub(super) fn setup(&self, levels: Vec<usize>, executables: &Executables) -> SubjectSetup {
        let (running, entry) = (self.running.server(), self.running.entry());
        let scheme = if entry.tls { "https" } else { "http" };
        let cpu = match self.running.cpu() {
            Ok(reading) => reading.source.label().to_owned(),
            Err(missing) => format!("cannot be read: {missing}"),
        };
        SubjectSetup {
            server: running.kind.to_owned(),
            version: running.version.clone(),
            url: format!("{scheme}://{}", entry.address),
            command: running.command_line.clone(),
            config: running.config.clone(),
            binary_sha256: running.main_process().and_then(|pid| executables.sha256_of(pid)),
            cpu_source: Some(cpu),
            tls: self.tls.clone(),
            client: ClientSetup::of(&self.client, entry.tls),
            levels,
            proof: self.proof.clone(),
            fronts: self.running.fronts().iter().map(front_setup).collect(),
            ..SubjectSetup::default()
        }
    }

    /// Refuses an arm whose layer is off: it is not worth a slice.
    pub(super) fn demand_layer(&self) -> Result<(), RunError> {
        match &self.proof {
            Some(proof) if !proof.active => {
                Err(RunError::LayerOff { arm: self.name.clone(), said: proof.words.clone() })
            }
            _ => Ok(()),
        }
    }
}

/// Results of the arm's own proof and those of its layers, as one.
fn proof(arm: &Arm, running: &Chain, context: &Context<'_>) -> Result<Option<ProofRecord>, RunError> {
    let mut proofs = Vec::new();
    for part in running.parts() {
        proofs.extend(prove_layers(part, context)?);
    }
    if let Some(argv) = &arm.proof {
        let own = prove(running.server(), context, argv)?;
        if proofs.is_empty() {
            return Ok(Some(own.into()));
        }
        proofs.push((arm.name.clone(), own));
    }
    Ok(Proof::all(proofs).map(Into::into))
}

fn has_store(front: &FrontKind) -> bool {
    match front {
        // Whether an unknown program has a store is unknown too; to ask for everything once does no harm.
        FrontKind::Product { product, .. } => product.stores_in().is_some(),
        FrontKind::Command { .. } => true,
        FrontKind::Attached { .. } => false,
    }
}

fn front_setup(front: &Running) -> FrontSetup {
    FrontSetup {
        front: front.kind.to_owned(),
        version: front.version.clone(),
        url: front.address.to_string(),
        command: front.command_line.clone(),
        config: front.config.clone(),
    }
}

fn limits(plan: &LimitsPlan) -> Limits {
    Limits { memory: plan.memory, cpus: plan.cpus, read: plan.read, write: plan.write }
}

/// The station of these lanes towards an arm.
pub(super) fn station(
    (arm, entry): (&Arm, &Entry),
    (work, client): (&RequestWork, &ClientPlan),
    authority: Option<&Path>,
    (lanes, cores): (Lanes, &[usize]),
) -> Result<Station, RunError> {
    let target = target(arm, entry, client, authority)?;
    let engine =
        Engine { connect_timeout: client.connect_timeout, refusals: work.refusals, ..Engine::default() };
    Station::with(target, lanes, cores.to_vec(), engine).map_err(RunError::Generator)
}

fn target(
    arm: &Arm,
    entry: &Entry,
    client: &ClientPlan,
    authority: Option<&Path>,
) -> Result<Target, RunError> {
    let asked = client.host.as_deref();
    let tls = if entry.tls {
        let ours = authority.map(|authority| Trust::File(authority.to_owned()));
        let trust = arm.trust.clone().or(ours).unwrap_or_else(Trust::system);
        let name = client.name_in_tls().unwrap_or(&entry.server_name).to_owned();
        let name = ServerName::try_from(name.clone())
            .map_err(|why| RunError::System(io::Error::other(format!("{name}: {why}"))))?;
        Some((TlsOptions { trust, ..client.tls.clone() }.load()?, name))
    } else {
        None
    };
    let own = || match entry.address.port() {
        80 if !entry.tls => entry.server_name.clone(),
        443 if entry.tls => entry.server_name.clone(),
        port => format!("{}:{port}", entry.server_name),
    };
    let host = asked.map_or_else(own, str::to_owned);
    let headers = client.headers.iter().flat_map(|line| format!("{line}\r\n").into_bytes()).collect();
    Ok(Target {
        tls,
        reuse: client.reuse.clone(),
        protocol: client.protocol,
        from: client.from.clone(),
        headers,
        host_is_fixed: asked.is_some(),
        ..Target::plain(entry.address, host)
    })
}

/// Digests of executables, by device and number of the file: one that several arms run is read once.
#[derive(Default)]
pub(super) struct Executables(RefCell<BTreeMap<(u64, u64), String>>);

impl Executables {
    fn sha256_of(&self, pid: u32) -> Option<String> {
        let path = PathBuf::from(format!("/proc/{pid}/exe"));
        let file = std::fs::metadata(&path).ok()?;
        let known = self.0.borrow().get(&(file.dev(), file.ino())).cloned();
        known.or_else(|| {
            let hash = environment::sha256_of(&path).ok()?;
            self.0.borrow_mut().insert((file.dev(), file.ino()), hash.clone());
            Some(hash)
        })
    }
}

/// Appends output: an arm may be started many times.
fn keep_logs(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            keep_logs(&path, &to.join(entry.file_name()));
            continue;
        }
        let is_log = path.extension().is_some_and(|extension| extension == "log");
        let has_words = entry.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0);
        if is_log && has_words && std::fs::create_dir_all(to).is_ok() {
            let _ = append(&path, &to.join(entry.file_name()));
        }
    }
}

fn append(from: &Path, to: &Path) -> io::Result<()> {
    let mut log = std::fs::File::open(from)?;
    let mut kept = std::fs::OpenOptions::new().create(true).append(true).open(to)?;
    io::copy(&mut log, &mut kept)?;
    kept.flush()
}

/// Time of the slowest start.
pub(super) fn slowest_start(places: &[ServerArm]) -> Option<Nanos> {
    places.iter().map(|place| place.running.start_time()).max()
}
