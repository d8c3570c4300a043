//! Run of the conformance suite: its server, the product before it, its client, and that client's output.
//!
//! Measuring side, cold. Every process is under a supervisor and in a private directory, so that nothing of it outlives
//! bakeoff, and the suite's server listens on 127.0.0.1 alone.

use super::record::{Examined, FILE, FORMAT, ProductOutcome, SuiteFacts, SuiteRecord};
use super::score::{self, Score, Test};
use super::suite::{Listing, PACKAGE};
use super::{ConformanceError, ConformanceSuite};
use crate::directory::StoredBakeoff;
use crate::plan::{CachePlan, Entrant, EntrantKind, PlanChanges, PlanError};
use crate::records::EntrantRecord;
use crate::run::BakeoffProgress;
use crate::run::launch::Launch;
use crate::run::setup::setup;
use bakeoff_experiment::environment::Placement;
use bakeoff_experiment::run::Scratch;
use bakeoff_results::directory::ResultsDir;
use bakeoff_subject::{
    CommandEnd, CommandJob, CommandOutcome, Context, CpuChoice, ProxyMode, Running, Spec, SubjectError,
    run_command, start,
};
use bakeoff_units::{Nanos, PerSecond};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Prints the suite's tests.
const LISTING: &str = include_str!("listing.mjs");
/// Keeps the suite's server on loopback.
const LOOPBACK: &str = include_str!("loopback.cjs");

/// Time for node to read files and print: seconds on a busy machine.
const LISTING_TIME: Nanos = Nanos::from_secs(60);
/// Time for node to start a server.
const START_TIME: Nanos = Nanos::from_secs(30);
/// Time that processes may take to end.
const GRACE: Nanos = Nanos::from_secs(2);

/// Products that the suite is to examine.
pub struct Examination<'a> {
    /// The entrants and the size of their stores. Its rates and phases are not used.
    pub plan: &'a CachePlan,
    /// The suite.
    pub suite: &'a ConformanceSuite,
    /// Most time of the suite for a product.
    pub time_limit: Nanos,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// The plan of a bake-off with the products that took part.
///
/// # Errors
/// The stored plan cannot be read.
pub fn plan_of(stored: &StoredBakeoff) -> Result<CachePlan, PlanError> {
    let setup = &stored.setup;
    // Any of these replaces the plan's products, so that without --product none is ours.
    let replaces = ["--product ", "--proxy ", "--reverse "];
    let is_replaced = setup.flags.iter().any(|flag| replaces.iter().any(|start| flag.starts_with(start)));
    let typed = setup.flags.iter().filter_map(|flag| flag.strip_prefix(replaces[0])?.parse().ok());
    let entrants: Vec<Entrant> = typed.collect();
    let none_is_ours = is_replaced && entrants.is_empty();
    let changes = PlanChanges {
        entrants,
        scale: setup.scale.parse().ok(),
        rate: setup.rate_per_s.and_then(PerSecond::new),
        ..PlanChanges::default()
    };
    let mut plan = CachePlan::parse(&setup.name, bakeoff_results::directory::PLAN, &stored.plan, &changes)?;
    if none_is_ours {
        plan.entrants.clear();
    }
    Ok(plan)
}

/// Entrants that the suite can examine.
///
/// # Errors
/// There is none.
pub fn examinable(plan: &CachePlan) -> Result<Vec<&Entrant>, ConformanceError> {
    if plan.mode == ProxyMode::Forward {
        return Err(ConformanceError::Forward);
    }
    let ours = |entrant: &&Entrant| matches!(entrant.kind, EntrantKind::Product { .. });
    let products: Vec<&Entrant> = plan.entrants.iter().filter(ours).collect();
    if products.is_empty() { Err(ConformanceError::NoProduct) } else { Ok(products) }
}

impl Examination<'_> {
    /// Runs the suite against each product, and writes the record anew after each. Written records stay when this
    /// fails.
    ///
    /// # Errors
    /// Anything that kept it from its end. A product's failure is in its record instead.
    pub fn run(
        &self,
        dir: &ResultsDir,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<SuiteRecord, ConformanceError> {
        let products = examinable(self.plan)?;
        // The same cores and number of connections as in a bake-off of this plan.
        let (setup, placement, connections) = setup(self.plan, &[], true)?;
        let scratch = Scratch::create(&mut |words| progress.stage(words))
            .map_err(|why| ConformanceError::from(crate::CachesError::Temporary(why.to_string())))?;
        let room = Room { of: self, placement, connections, scratch: scratch.path(), dir };
        let listing = room.listing()?;
        let mut record = self.begin(setup.started, &listing);
        for entrant in products {
            progress.stage(&format!(
                "{entrant}: {} tests of {PACKAGE} {}",
                record.suite.tests, self.suite.version
            ));
            record.products.push(room.examine(entrant, &listing.tests)?);
            dir.write(FILE, &record.json())?;
        }
        Ok(record)
    }

    fn begin(&self, started: String, listing: &Listing) -> SuiteRecord {
        SuiteRecord {
            format: FORMAT,
            bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
            started,
            suite: SuiteFacts {
                package: PACKAGE.to_owned(),
                version: self.suite.version.clone(),
                digest: listing.digest.clone(),
                tests: listing.tests.iter().filter(|test| !test.browser_only).count() as u64,
                node: listing.node.clone(),
            },
            plan: self.plan.name.clone(),
            memory_bytes: self.plan.memory_bytes,
            disk_bytes: self.plan.disk_bytes,
            products: Vec::new(),
        }
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// Surroundings of an examination.
struct Room<'a> {
    of: &'a Examination<'a>,
    placement: Placement,
    connections: usize,
    scratch: &'a Path,
    dir: &'a ResultsDir,
}

impl Room<'_> {
    /// The suite's description of its tests.
    fn listing(&self) -> Result<Listing, ConformanceError> {
        let suite = self.of.suite;
        let unfit = |why: String| ConformanceError::Unfit { root: suite.root.clone(), why };
        let script = self.file("listing.mjs", LISTING)?;
        let (outcome, printed) = self.node("listing", &[&script, &suite.root], Vec::new(), LISTING_TIME)?;
        if outcome.status != CommandEnd::Exited(0) {
            let said = lines(&outcome.stderr_tail);
            return Err(unfit(format!("its tests cannot be listed ({}); node said:{said}", outcome.status)));
        }
        let why = |why| unfit(format!("its tests are not in a form that this bakeoff knows: {why}"));
        serde_json::from_str(&printed).map_err(why)
    }

    /// Examines one product. Its own failure is in the result.
    fn examine(&self, entrant: &Entrant, tests: &[Test]) -> Result<Examined, ConformanceError> {
        let server = self.server()?;
        let mut examined = Examined {
            entrant: EntrantRecord { name: entrant.name.clone(), ..EntrantRecord::default() },
            port: None,
            origin_port: server.address.port(),
            seconds: 0.0,
            came_to: ProductOutcome::Failed(String::new()),
        };
        let score = self.product(entrant, &server, &mut examined).and_then(|running| {
            let began = Instant::now();
            let score = self.score(&running, &server, tests);
            examined.seconds = began.elapsed().as_secs_f64();
            score
        });
        examined.came_to = match score {
            Ok(score) => ProductOutcome::Scored(score),
            Err(_) if self.of.is_interrupted() => return Err(ConformanceError::Interrupted),
            Err(why) if why.is_of_one() => ProductOutcome::Failed(why.to_string()),
            Err(why) => return Err(why),
        };
        Ok(examined)
    }

    /// The suite's server. It also serves files of its working directory: its private one.
    fn server(&self) -> Result<Running, ConformanceError> {
        let suite = self.of.suite;
        let loopback = self.file("loopback.cjs", LOOPBACK)?;
        let words: [&Path; 4] = [&suite.node, Path::new("--require"), &loopback, &suite.server];
        let env = [
            ("npm_config_protocol", "http"),
            ("npm_config_port", "{port}"),
            ("npm_config_pidfile", "{dir}/server.pid"),
        ];
        let spec = Spec::Command {
            argv: words.iter().map(|word| as_written(word)).collect(),
            ready: None,
            env: env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
            tls: false,
        };
        let mut context = Context::new("suite", self.scratch, self.scratch, self.of.interrupted);
        context.cpus.clone_from(&self.placement.generator);
        context.start_timeout = START_TIME;
        start(&spec, &context).map_err(|why| match why {
            SubjectError::Interrupted { .. } => ConformanceError::Interrupted,
            other => ConformanceError::Server(other),
        })
    }

    /// The product, started as in a bake-off with the suite's server as its origin.
    fn product(
        &self,
        entrant: &Entrant,
        server: &Running,
        examined: &mut Examined,
    ) -> Result<Running, ConformanceError> {
        let EntrantKind::Product { product, config } = &entrant.kind else {
            return Err(ConformanceError::NoProduct);
        };
        let launch = Launch {
            plan: self.of.plan,
            origin: server.address,
            connections: self.connections,
            cores: &self.placement.subject,
            scratch: self.scratch,
            interrupted: self.of.interrupted,
        };
        let (spec, _) = launch.spec(*product, config.as_deref());
        let running = launch.start(&entrant.name, &spec)?;
        examined.port = Some(running.address.port());
        examined.entrant.version.clone_from(&running.version);
        if let Some(text) = &running.config {
            let file = format!("conformance-{}.conf", entrant.name);
            self.dir.write(&file, text.as_bytes())?;
            examined.entrant.config = Some(file);
        }
        Ok(running)
    }

    /// Runs the suite's client against the product, and scores its output.
    fn score(&self, product: &Running, server: &Running, tests: &[Test]) -> Result<Score, ConformanceError> {
        let base = format!("http://{}", product.address);
        // Without an id it runs every test, and no id is the empty one of its package's configuration.
        let env = [("npm_config_base", base.as_str()), ("npm_package_config_id", "")];
        let env = env.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let words: [&Path; 2] = [Path::new("--no-warnings"), &self.of.suite.client];
        let (outcome, printed) =
            self.node(&format!("client-{}", product.arm), &words, env, self.of.time_limit)?;
        // The client's output means nothing if the product or the server is gone.
        product.alive()?;
        server.alive().map_err(ConformanceError::Server)?;
        match outcome.status {
            CommandEnd::Exited(0) => {}
            CommandEnd::TimedOut => return Err(ConformanceError::TimeLimit(self.of.time_limit)),
            CommandEnd::Interrupted => return Err(ConformanceError::Interrupted),
            status @ (CommandEnd::Exited(_) | CommandEnd::Killed(_)) => {
                let said = lines(&outcome.stderr_tail);
                return Err(ConformanceError::Client { status: status.to_string(), said });
            }
        }
        let said = score::parse(&printed).map_err(ConformanceError::Answer)?;
        Ok(score::score(tests, &said))
    }

    /// Runs node to its end, on the cores of the clients. Returns its status and all its output.
    fn node(
        &self,
        name: &str,
        words: &[&Path],
        env: Vec<(String, String)>,
        time_limit: Nanos,
    ) -> Result<(CommandOutcome, String), ConformanceError> {
        let dir = self.scratch.join(name);
        let scratch = |why| ConformanceError::Scratch { path: dir.clone(), why };
        std::fs::create_dir(&dir).map_err(scratch)?;
        let node = self.of.suite.node.as_path();
        let outcome = run_command(&CommandJob {
            arm: name.to_owned(),
            argv: std::iter::once(&node).chain(words).map(|word| word.display().to_string()).collect(),
            env,
            cwd: dir.clone(),
            dir: dir.clone(),
            cpus: self.placement.generator.clone(),
            time_limit: Some(time_limit),
            cpu_source: CpuChoice::Auto,
            grace: GRACE,
            executable: None,
            interrupted: self.of.interrupted,
        })?;
        if outcome.status == CommandEnd::Interrupted {
            return Err(ConformanceError::Interrupted);
        }
        let printed = std::fs::read(dir.join("stdout.log")).map_err(scratch)?;
        Ok((outcome, String::from_utf8_lossy(&printed).into_owned()))
    }

    /// A script of ours.
    fn file(&self, name: &str, text: &str) -> Result<PathBuf, ConformanceError> {
        let path = self.scratch.join(name);
        let written = std::fs::write(&path, text);
        written.map_err(|why| ConformanceError::Scratch { path: path.clone(), why })?;
        Ok(path)
    }
}

/// A word of a command with its braces escaped, so that none is replaced.
fn as_written(word: &Path) -> String {
    word.display().to_string().replace('{', "{{").replace('}', "}}")
}

/// Last lines, each on one of its own.
fn lines(tail: &[String]) -> String {
    tail.iter().map(|line| format!("\n    {line}")).collect()
}
