//! Command line: flags and arguments, checked for form only.

use bakeoff_analysis::rule::Rule;
use bakeoff_caches::TimeScale;
use bakeoff_caches::conformance::HERE;
use bakeoff_caches::plan::Entrant;
use bakeoff_caches::transactions::Encode;
use bakeoff_experiment::run::Generators;
use bakeoff_loadgen::{LocalAddresses, LocalPorts, Share};
use bakeoff_plan::{Only, PlanError, PlanSource, Setting};
use bakeoff_reach::{Lab, LabError, Place, PlaceList};
use bakeoff_robots::ledger::Beat;
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_wire::parts::Part;
use clap::{Args, Parser, Subcommand};
use std::net::Ipv4Addr;
use std::num::{NonZeroU16, NonZeroU64};
use std::path::PathBuf;

/// What does that layer cost? Measures web servers with and without a layer, in interleaved
/// rounds, and says what the layer costs, with an interval and a verdict in words.
#[derive(Debug, Parser)]
#[command(name = "bakeoff", version, max_term_width = 90)]
#[command(after_help = "Start with `bakeoff run quickstart`, or with your own server's configurations:\n  \
    bakeoff compare --server nginx a.conf b.conf --log access.log")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run an experiment, or several: a plan or suite file, or a shipped one by name
    Run(RunArgs),
    /// Compare two configurations of a server, two running servers or two commands, without writing a plan
    Compare(CompareArgs),
    /// Find the highest rate that a server sustains, without writing a plan
    Peak(PeakArgs),
    /// Load one server and print what it did
    Load(LoadArgs),
    /// Serve as the built-in origin
    Origin(OriginArgs),
    /// Ask as the robots of a bake-off's plan do, of an origin started elsewhere by `origin --plan`
    Robots(RobotsArgs),
    /// Send a share of the load of an experiment that another host runs with --generator
    Generator(GeneratorOfferArgs),
    /// Run what another host runs here with --at
    Runner(RunnerArgs),
    /// Print the figures of a bake-off's phases under the names of Polygraph's `lx`
    Extract(ExtractArgs),
    /// Run the public HTTP cache suite against products as bake-offs have them
    Conformance(ConformanceArgs),
    /// Use one of the layers by itself; executes `bakeoff-layers`
    Layer(LayerArgs),
    /// Look for what spoils measurements here; changes nothing
    Doctor(DoctorArgs),
    /// List the shipped plans, or print one
    Plans(PlansArgs),
    /// Check a plan without running it
    Check(CheckArgs),
    /// Make every output of a results directory again
    Report(ReportArgs),
    /// Check that a results directory is as it was written and says what its slices give
    Verify(VerifyArgs),
    /// Print the figures that classic studies published
    Studies(StudiesArgs),
    /// Join runs of one machine into a list of what layers cost
    Prices(PricesArgs),
    /// Hold a new run against a stored one of the same plan: what changed
    CompareResults(CompareResultsArgs),
    /// Print the JSON schema of plans or results
    Schema(SchemaArgs),
    /// Print the meters
    Meters(MetersArgs),
    /// Print completions for a shell, such as `bakeoff completions bash > /etc/bash_completion.d/bakeoff`
    Completions(CompletionsArgs),
    /// Write the manual pages, one a command, such as `bakeoff manual /usr/local/share/man/man1`
    Manual(ManualArgs),
    /// Print the version, as --version does
    #[command(hide = true)]
    Version,
    /// Not for people: keeps the processes of one subject
    #[command(hide = true)]
    Supervisor,
    /// Not for people: delays and loses the frames of a link
    #[command(hide = true)]
    Emulator,
    /// Not for people: a generator that the other end of a runner calls
    #[command(hide = true)]
    Relay(RelayArgs),
}

#[derive(Args, Debug, Default)]
pub(crate) struct RunArgs {
    /// Plan or suite file, `-` for standard input, or the name of a shipped one
    #[arg(value_name = "PLAN", required_unless_present = "resume")]
    pub(crate) plan: Option<String>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
    /// Run the whole of a plan that states a sample, by its `full` values
    #[arg(long, conflicts_with = "resume")]
    pub(crate) full: bool,
    /// Run what the plan NAME-here measures on this machine itself, in place of NAME
    #[arg(long, conflicts_with = "resume")]
    pub(crate) here: bool,
    /// Of a suite only this part; may be given more than once
    #[arg(long = "part", value_name = "NAME", conflicts_with = "resume")]
    pub(crate) parts: Vec<String>,
    /// Go on with the run in this results directory
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "out", "set", "budget", "at", "places", "address", "on"])]
    pub(crate) resume: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) places: PlaceArgs,
    #[command(flatten)]
    pub(crate) caches: CachesArgs,
}

/// The machines of a run.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct PlaceArgs {
    /// Measure on another machine: ssh:HOST, slurm:NODE, or via:WORDS with any launcher's words, such as
    /// 'via:docker exec -i bench bakeoff runner --stdio'. The plan and the files beside it that it names go there; what is
    /// printed and written there comes here
    #[arg(long, value_name = "PLACE", conflicts_with = "on")]
    at: Option<Place>,
    #[command(flatten)]
    generators: GeneratorArgs,
}

impl PlaceArgs {
    /// All places.
    ///
    /// # Errors
    /// The file names none.
    pub(crate) fn lab(&self) -> Result<Lab, LabError> {
        let lab = self.generators.lab()?;
        Ok(Lab { subject: self.at.clone().or(lab.subject), ..lab })
    }
}

impl RunArgs {
    /// Words of a run with the same flags on another machine, but for where its results go.
    pub(crate) fn words(&self, plan: String, generators: &Generators) -> Vec<String> {
        let flag = |is_set: bool, flag: &str| is_set.then(|| flag.to_owned());
        let output = &self.output;
        let mut words = vec!["run".to_owned(), plan];
        words.extend(flag(output.quiet, "--quiet"));
        words.extend(flag(output.json, "--json"));
        words.extend(flag(output.verbose, "--verbose"));
        words.extend(flag(self.full, "--full"));
        words.extend(flag(self.rules.strict, "--strict"));
        words.extend(self.rules.fail_if.iter().map(|rule| format!("--fail-if={rule}")));
        words.extend(self.parts.iter().map(|part| format!("--part={part}")));
        words.extend(self.set.words());
        words.extend(words_of(generators));
        words.extend(self.caches.typed().iter().map(|typed| typed.replacen(' ', "=", 1)));
        words
    }
}

/// Flags that name generators.
fn words_of(generators: &Generators) -> impl Iterator<Item = String> {
    let places = generators.places.iter().map(|place| format!("--generator={place}"));
    places.chain(generators.address.map(|address| format!("--address={address}")))
}

/// The source of an experiment's load.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct GeneratorArgs {
    /// Send the load from other hosts, all together: ssh:HOST, slurm for the other nodes of a job, or via:WORDS with any
    /// launcher's words, such as 'via:docker exec -i load bakeoff generator --stdio'; may be given more than once
    #[arg(long = "generator", value_name = "PLACE,...")]
    places: Vec<PlaceList>,
    /// With --generator: address of this machine where servers listen, such as 10.0.0.2 [default: 127.0.0.1,
    /// or the node's by Slurm]
    #[arg(long, value_name = "ADDRESS")]
    address: Option<Ipv4Addr>,
    /// Take the places from this file, such as lab.toml: subject.at, subject.address, and generator.at, a list
    #[arg(long, value_name = "FILE", conflicts_with_all = ["places", "address"])]
    on: Option<PathBuf>,
    /// Not for people: whoever listens at this socket calls the generators
    #[arg(long, value_name = "SOCKET", hide = true)]
    pass_by: Option<PathBuf>,
}

impl GeneratorArgs {
    /// All places.
    ///
    /// # Errors
    /// The file names none.
    pub(crate) fn lab(&self) -> Result<Lab, LabError> {
        match &self.on {
            Some(path) => Lab::open(path),
            None => Ok(Lab {
                subject: None,
                address: self.address,
                generators: self.places.clone(),
                passed_by: self.pass_by.clone(),
            }),
        }
    }
}

/// How a runner is spoken to.
#[derive(Args, Debug)]
pub(crate) struct RunnerArgs {
    /// Speak over standard input and output: the only way there is
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
}

/// Who calls a generator.
#[derive(Args, Debug)]
pub(crate) struct RelayArgs {
    pub(crate) socket: PathBuf,
    pub(crate) number: u32,
}

/// Limits of a generator.
#[derive(Args, Debug)]
pub(crate) struct GeneratorOfferArgs {
    /// Speak over standard input and output: the only way there is
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    /// Addresses that it may load, such as 10.0.0.2 or 10.0.0.0/24 [default: any]; may be given more than once
    #[arg(long, value_name = "RANGE")]
    pub(crate) only: Vec<LocalAddresses>,
    /// Threads that it offers, at most [default: one a core that it may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
}

/// Where the connections of a bake-off's robots come from.
#[derive(Args, Debug, Default)]
pub(crate) struct SourceArgs {
    /// Local addresses of the robots' connections, used in turn, by robots with connections of their own one a
    /// robot, such as 127.0.0.2-127.0.0.9 or 127.0.1.0/24; each has ports of its own. May be given more than once
    #[arg(long, value_name = "RANGE")]
    pub(crate) from: Vec<LocalAddresses>,
    /// Local ports of the robots' connections, such as 1024:30000 [default: the kernel's]
    #[arg(long, value_name = "FIRST:LAST")]
    pub(crate) ports: Option<LocalPorts>,
}

impl SourceArgs {
    /// As they were typed.
    fn typed(&self) -> impl Iterator<Item = String> {
        let from = self.from.iter().map(|range| format!("--from {range}"));
        from.chain(self.ports.map(|ports| format!("--ports {ports}")))
    }
}

/// What changes a bake-off of caches.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Bake-offs of caches")]
pub(crate) struct CachesArgs {
    /// Who takes part, in place of the plan's products: `none`, `squid`, `varnish`, `nginx`, `apache`,
    /// `trafficserver`, `haproxy`, with a configuration of your own as in `squid=my.conf`; may be given more
    /// than once
    #[arg(long = "product", value_name = "NAME")]
    pub(crate) products: Vec<Entrant>,
    /// A forward proxy that runs already takes part
    #[arg(long = "proxy", value_name = "HOST:PORT")]
    pub(crate) proxies: Vec<String>,
    /// A reverse proxy that runs already, in front of the origin at --origin-port, takes part
    #[arg(long = "reverse", value_name = "HOST:PORT", requires = "origin_port")]
    pub(crate) reverse: Vec<String>,
    /// Port of the origin [default: a free one]
    #[arg(long, value_name = "PORT")]
    pub(crate) origin_port: Option<u16>,
    /// Share of the published durations, such as 1/60
    #[arg(long, value_name = "SHARE")]
    pub(crate) scale: Option<TimeScale>,
    /// The rate of a plan with one rate, the peak of a plan with shares of a peak, such as 50/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<PerSecond>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Print a line an interval as `polyclt` did: polygraph, with the columns of 4.9.0, or polygraph-1, with
    /// those of 1999
    #[arg(long, value_name = "NAME", value_parser = ["polygraph", "polygraph-1"], hide_possible_values = true, conflicts_with = "json")]
    pub(crate) console: Option<String>,
    /// With --console: a line each TIME, such as 1s, in place of each 5 s
    #[arg(long, value_name = "TIME", requires = "console")]
    pub(crate) console_every: Option<Beat>,
    /// Also write a row for every request, as they happen, into DIR/transactions/*.parquet: 30 to 50 bytes
    /// of disk a request, some 17 MB an hour at 100/s
    #[cfg(feature = "parquet")]
    #[arg(long)]
    pub(crate) transactions: bool,
}

/// What writes every request down, in a build that can.
fn encode(wanted: bool) -> Option<Encode> {
    #[cfg(feature = "parquet")]
    {
        wanted.then_some(bakeoff_report::transactions_parquet as Encode)
    }
    #[cfg(not(feature = "parquet"))]
    {
        let _ = wanted; // the flag is not there either
        None
    }
}

impl CachesArgs {
    /// What writes every request down, if that is wanted.
    pub(crate) fn encode(&self) -> Option<Encode> {
        encode(self.transactions)
    }

    /// Those that were given, as they were typed.
    pub(crate) fn typed(&self) -> Vec<String> {
        let mut typed = Vec::new();
        typed.extend(self.products.iter().map(|entrant| format!("--product {}", entrant.typed())));
        typed.extend(self.proxies.iter().map(|address| format!("--proxy {address}")));
        typed.extend(self.reverse.iter().map(|address| format!("--reverse {address}")));
        typed.extend(self.origin_port.map(|port| format!("--origin-port {port}")));
        typed.extend(self.scale.map(|scale| format!("--scale {scale}")));
        typed.extend(self.rate.map(|rate| format!("--rate {rate}")));
        typed.extend(self.source.typed());
        typed.extend(self.console.iter().map(|console| format!("--console {console}")));
        typed.extend(self.console_every.map(|every| format!("--console-every {every}")));
        typed.extend(self.encode().map(|_| "--transactions".to_owned()));
        typed
    }
}

#[derive(Args, Debug, Default)]
pub(crate) struct OutputArgs {
    /// Results directory, new or empty [default: bakeoff-results/NAME-TIME]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print only the line `results: DIR` on standard output, and no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the results as JSON on standard output, and nothing else there
    #[arg(long)]
    pub(crate) json: bool,
    /// Print every table and the conditions, not the answers alone
    #[arg(long, conflicts_with_all = ["quiet", "json"])]
    pub(crate) verbose: bool,
    /// Not for people: another machine asked for it, by this command line
    #[arg(long, value_name = "COMMAND", hide = true)]
    pub(crate) far: Option<String>,
    /// It is a part of a suite, which says on standard output what there is to say
    #[arg(skip)]
    pub(crate) part: bool,
}

impl OutputArgs {
    /// Whether words for people go to standard output.
    pub(crate) fn words(&self) -> bool {
        !self.quiet && !self.json && !self.part
    }
}

/// Values in place of a plan's own.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct SetArgs {
    /// Take this value in place of the plan's: tables and key with dots, then a TOML value or a bare string, such as
    /// experiment.max_rounds=20 or arm.https.tls=false, of a suite behind the name of a part; may be given more than once
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<Setting>,
    /// Run these levels of a factor alone, beside that of the baseline, such as server=nginx,apache; may be given more than
    /// once; of a suite: in every part with that factor
    #[arg(long, value_name = "FACTOR=LEVEL,...")]
    only: Vec<Only>,
    /// Wall time allowed, in place of the plan's
    #[arg(long, value_name = "TIME")]
    pub(crate) budget: Option<String>,
    #[command(flatten)]
    loads: CurveArgs,
}

/// Loads of a curve.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct CurveArgs {
    /// Measure the cost at each of these loads in every round: rates, or shares of what the slowest arm answers in the
    /// pilot, such as 10%,50%,90%. The verdict stands on the middle one
    #[arg(long, value_name = "LOAD,...", value_delimiter = ',')]
    loads: Vec<String>,
    /// With --loads: the verdict stands on this one
    #[arg(long, value_name = "LOAD", requires = "loads")]
    decide_at: Option<String>,
}

impl CurveArgs {
    /// None was asked for.
    pub(crate) const fn is_empty(&self) -> bool {
        self.loads.is_empty()
    }

    /// As keys of `[experiment]` with their values.
    pub(crate) fn keys(&self) -> Vec<String> {
        let quoted: Vec<String> =
            self.loads.iter().map(|load| toml::Value::from(load.trim()).to_string()).collect();
        let loads = (!quoted.is_empty()).then(|| format!("loads=[{}]", quoted.join(", ")));
        let decide_at =
            self.decide_at.iter().map(|load| format!("decide_at={}", toml::Value::from(load.trim())));
        loads.into_iter().chain(decide_at).collect()
    }

    /// As settings of a plan.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        self.keys().iter().filter_map(|key| format!("experiment.{key}").parse().ok()).collect()
    }
}

impl SetArgs {
    /// These.
    pub(crate) fn of(set: Vec<Setting>) -> Self {
        Self { set, ..Self::default() }
    }

    /// As they were typed.
    fn words(&self) -> Vec<String> {
        let mut words: Vec<String> = self.set.iter().map(|set| format!("--set={}", set.typed())).collect();
        words.extend(self.only.iter().map(|only| format!("--only={only}")));
        words.extend(self.budget.iter().map(|budget| format!("--budget={budget}")));
        words.extend((!self.loads.is_empty()).then(|| format!("--loads={}", self.loads.loads.join(","))));
        words.extend(self.loads.decide_at.iter().map(|at| format!("--decide-at={at}")));
        words
    }

    /// Loads of a curve: in a suite they are for every part that can.
    pub(crate) const fn loads(&self) -> &CurveArgs {
        &self.loads
    }

    /// Levels that alone are run.
    pub(crate) fn only(&self) -> &[Only] {
        &self.only
    }

    /// A plan's text with all of them in place of its own.
    pub(crate) fn applied(&self, source: &PlanSource) -> Result<PlanSource, PlanError> {
        let only = bakeoff_plan::only(&source.text, &self.only)?;
        let all: Vec<Setting> = self.settings().into_iter().chain(only).collect();
        source.with(&all)
    }

    /// Those that were given as such.
    pub(crate) fn own(&self) -> &[Setting] {
        &self.set
    }

    /// In the order in which they count; `--budget` is the last word on the budget.
    pub(crate) fn settings(&self) -> Vec<Setting> {
        let budget = self.budget.as_deref().map(Setting::budget);
        self.set.iter().cloned().chain(self.loads.settings()).chain(budget).collect()
    }
}

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct RuleArgs {
    /// End with exit code 5 when this is so: of a change, `cost > 2%`, `cost > 1.5us`, `https: response_p99 > 10%`; of a
    /// figure itself, `response_p99 > 20ms`, `errors > 0`; `verdict = costs`; of a bake-off of caches `faults > 0`,
    /// `squid: verdict = cheat`. May be given more than once. Figures are judged by the careful end of their interval
    #[arg(long, value_name = "RULE")]
    pub(crate) fail_if: Vec<Rule>,
    /// With --fail-if: end with exit code 6 also when the interval leaves a rule open
    #[arg(long, requires = "fail_if")]
    pub(crate) strict: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// Two or more configuration files (with --server), or two or more URLs; the first is the
    /// baseline. With --front: configurations of the one product in front, or the one server behind
    #[arg(value_name = "CONFIG|URL", required_unless_present_any = ["fronts", "commands"])]
    pub(crate) sides: Vec<String>,
    /// In place of servers two or more commands that run to their end, each with its arguments behind a `--` of its own:
    /// `compare -- gzip -kf a -- zstd -kf a`. One that is a single word with spaces goes to `sh`; 'CMD' 'CMD' need no second `--`
    #[arg(
        last = true,
        value_name = "COMMAND",
        conflicts_with_all = ["sides", "fronts", "server", "log", "paths", "http2", "robots", "at", "pids", "cacert", "insecure"]
    )]
    pub(crate) commands: Vec<String>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    #[command(flatten)]
    pub(crate) generators: GeneratorArgs,
    /// What stands before the server: a product such as varnish, haproxy, squid or nginx, with a configuration of yours
    /// behind `=`, or none. Given more than once: what each costs and gains, with an empty store and with a full one; given
    /// once: two configurations of it before the built-in origin
    #[arg(long = "front", value_name = "NAME[=CONFIG]")]
    pub(crate) fronts: Vec<String>,
    /// With --front: how long caches may keep what the built-in origin sends [default: 24h]
    #[arg(long, value_name = "TIME", requires = "fronts")]
    pub(crate) max_age: Option<String>,
    /// Robots asking at the same time
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) robots: u64,
    /// Smallest cost that matters: a share such as 1%, or a time such as 0.5us
    #[arg(long, value_name = "SHARE|TIME", default_value = "1%")]
    pub(crate) margin: String,
    /// Wall time allowed
    #[arg(long, value_name = "TIME", default_value = "5min")]
    pub(crate) budget: String,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// auto: a duet where it is honest; duet: together in one slice, in slots of some 20 ms, which tells CPU per request
    /// sharply, then rounds in turn for times and rates; pairs: one after the other
    #[arg(long, value_name = "NAME", default_value = "auto")]
    pub(crate) design: String,
    /// The meter that the verdict stands on, such as response_p50 or elapsed; `bakeoff meters` lists them [default: CPU per
    /// request where it can be read, else the median response time]
    #[arg(long, value_name = "METER")]
    pub(crate) decide: Option<String>,
    /// The rate at which a cost is also told in cores
    #[arg(long, value_name = "RATE", default_value = "1000/s")]
    pub(crate) at: String,
    #[command(flatten)]
    pub(crate) loads: CurveArgs,
    #[command(flatten)]
    pub(crate) urls: UrlArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
}

/// What is asked for, of `compare` and `peak`.
#[derive(Args, Debug)]
pub(crate) struct WorkArgs {
    /// The server that the configurations are for: nginx, apache or caddy
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Access log to replay
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Format of the log, such as combined, caddy or traefik; of other JSON lines where things stand in them, as in
    /// json:path=request.uri,method=request.method,status=status,size=size,time=ts; of other text what nginx' log_format
    /// would be, as in 'nginx:$remote_addr [$time_local] "$request" $status' [default: told from the log]
    #[arg(long, value_name = "FORMAT", requires = "log")]
    pub(crate) format: Option<String>,
    /// Path to ask for when there is no log; may be given more than once [default: /]
    #[arg(long = "path", value_name = "PATH", conflicts_with = "log")]
    pub(crate) paths: Vec<String>,
    /// The one status that is right for these paths, such as 404; others are failures [default: any below 400]
    #[arg(long, value_name = "STATUS", conflicts_with = "log")]
    pub(crate) expect: Option<u16>,
    /// `Host` of every request, and the name in TLS: the virtual host that is asked for [default: the server's address, or
    /// what the log says]
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// An address behind a running server's configuration that may be asked itself; may be given more than once [default: a
    /// stand-in answers for all of them]
    #[arg(long = "allow-upstream", value_name = "HOST:PORT")]
    pub(crate) allowed_upstreams: Vec<String>,
    /// Header line of every request, `Name: value`; may be given more than once. `Accept-Encoding` is sent without being
    /// asked for: to URLs as browsers do, to servers started here `gzip, br, zstd`, which are unpacked and checked
    #[arg(long = "header", short = 'H', value_name = "LINE")]
    pub(crate) headers: Vec<String>,
    /// Ask over HTTP/2: in TLS the servers must agree to it, without TLS they must expect it (h2c)
    #[arg(long)]
    pub(crate) http2: bool,
    /// With --http2: requests in flight on one connection
    #[arg(long, value_name = "N", requires = "http2", default_value = "1")]
    pub(crate) streams: NonZeroU16,
    /// Name of an arm in place of the one made from its file, URL or command; given once for each, in their order
    #[arg(long = "name", value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// What else is known of running servers.
#[derive(Args, Debug)]
pub(crate) struct UrlArgs {
    /// Process id of each URL's server, in their order: without them CPU cannot be read
    #[arg(long = "pid", value_name = "PID")]
    pub(crate) pids: Vec<u32>,
    /// PEM file with the authority that signed the URLs' certificates
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PeakArgs {
    /// One or more configuration files (with --server), or one or more URLs; the rates of the others
    /// are set against the first one's
    #[arg(value_name = "CONFIG|URL", required = true)]
    pub(crate) sides: Vec<String>,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
    /// Bound on the response time's 99th percentile [default: five times that of the first server at
    /// low load, at least 50ms]
    #[arg(long, value_name = "TIME")]
    pub(crate) slo: Option<String>,
    /// How narrow the interval of the rate must be
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub(crate) precision: String,
    /// How long the last trial takes, just below the rate that was found; never less than twenty times the bound
    #[arg(long, value_name = "TIME", default_value = "60s")]
    pub(crate) confirm: String,
    /// Try no higher rate, such as 5000/s; without it, closed loops of up to 256 connections find how
    /// fast the server can be
    #[arg(long, value_name = "RATE")]
    pub(crate) max_rate: Option<String>,
    /// Wall time allowed
    #[arg(long, value_name = "TIME", default_value = "10min")]
    pub(crate) budget: String,
    /// Seed of everything that is drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) urls: UrlArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
pub(crate) struct LoadArgs {
    /// http:// or https:// URL
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Offered rate such as 1000/s: open loop, late replies never delay the next request
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<PerSecond>,
    /// Connections: each with a robot of its own in the closed loop (with --http2 --streams of them)
    /// unless --robots says otherwise; most connections of the open loop [default: 64, with --rate 1000]
    #[arg(long, short = 'c', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) connections: Option<u64>,
    /// Robots of the closed loop, which share the connections
    #[arg(long, value_name = "N", conflicts_with = "rate", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub(crate) robots: Option<u64>,
    /// Time that a robot of the closed loop thinks between a reply and its next request; the first
    /// requests are spread over it
    #[arg(long, value_name = "TIME", conflicts_with = "rate")]
    pub(crate) think: Option<Nanos>,
    /// Generator threads
    #[arg(long, short = 't', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) threads: u64,
    /// How long to ask [default: 10s, unless --requests is given]
    #[arg(long, short = 'd', value_name = "TIME")]
    pub(crate) duration: Option<Nanos>,
    /// How many requests to make
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Method: GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS [default: GET, with --data POST]
    #[arg(long, short = 'X', value_name = "METHOD")]
    pub(crate) method: Option<String>,
    /// Send this with every request, such as '{"a": 1}', or the content of a file as @FILE; over HTTP/1.1. What it is
    /// says --header 'Content-Type: application/json'
    #[arg(long, value_name = "TEXT|@FILE", conflicts_with = "http2")]
    pub(crate) data: Option<String>,
    /// A new connection for each request
    #[arg(long)]
    pub(crate) no_keepalive: bool,
    /// Most requests of a connection
    #[arg(long, value_name = "N", conflicts_with = "no_keepalive")]
    pub(crate) per_connection: Option<NonZeroU64>,
    /// HTTP/2: over TLS as the server agrees to it, else as known beforehand
    #[arg(long)]
    pub(crate) http2: bool,
    /// Requests in flight on each connection of HTTP/2
    #[arg(long, value_name = "N", requires = "http2", default_value = "1")]
    pub(crate) streams: NonZeroU16,
    /// Local addresses of the connections, used in turn, such as 127.0.0.2-127.0.0.9 or 127.0.1.0/24;
    /// each has ports of its own. May be given more than once
    #[arg(long, value_name = "RANGE")]
    pub(crate) from: Vec<LocalAddresses>,
    /// Local ports of the connections, such as 1024:30000 [default: the kernel's]
    #[arg(long, value_name = "FIRST:LAST")]
    pub(crate) ports: Option<LocalPorts>,
    /// Accept any certificate
    #[arg(long, conflicts_with = "cacert")]
    pub(crate) insecure: bool,
    /// PEM file with the authority that signed the server's certificate
    #[arg(long, value_name = "FILE")]
    pub(crate) cacert: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: TlsArgs,
    /// Further header line, `Name: value`; may be given more than once. `Host` takes the place of the URL's
    #[arg(long = "header", short = 'H', value_name = "LINE")]
    pub(crate) headers: Vec<String>,
    /// The one status that is right, such as 404; others are failures [default: any below 400]
    #[arg(long, value_name = "STATUS")]
    pub(crate) expect: Option<u16>,
    /// Time limit of each request
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub(crate) timeout: Nanos,
    /// Time limit of connecting, so that a server that takes no connections does not hold the rate up
    /// [default: --timeout]
    #[arg(long, value_name = "TIME")]
    pub(crate) connect_timeout: Option<Nanos>,
    /// Look at each reply as it comes, not at several at once
    #[arg(long)]
    pub(crate) no_batching: bool,
    /// Also print where the generator's own time went
    #[arg(long)]
    pub(crate) profile: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What TLS is to be, of `load`.
#[derive(Args, Debug)]
pub(crate) struct TlsArgs {
    /// Offer this version of TLS alone: 1.2 or 1.3 [default: both]
    #[arg(long = "tls", value_name = "VERSION", value_parser = ["1.2", "1.3"], hide_possible_values = true)]
    pub(crate) version: Option<String>,
    /// Offer this cipher suite, such as TLS13_AES_128_GCM_SHA256; may be given more than once, the
    /// preferred one first [default: all, AES-256 first]
    #[arg(long = "cipher", value_name = "NAME")]
    pub(crate) ciphers: Vec<String>,
    /// Offer this key-exchange group, such as X25519 or X25519MLKEM768; may be given more than once,
    /// the preferred one first [default: all, X25519 first]
    #[arg(long = "group", value_name = "NAME")]
    pub(crate) groups: Vec<String>,
    /// Offer no post-quantum group
    #[arg(long)]
    pub(crate) no_post_quantum: bool,
    /// PEM file of the client's own certificate chain, for servers that ask for one
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(crate) cert: Option<PathBuf>,
    /// PEM file of its private key
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(crate) key: Option<PathBuf>,
    /// Share of the connections that go on with an earlier one's TLS session, such as 50%; with 0%
    /// every handshake is a full one [default: 100%]
    #[arg(long, value_name = "SHARE")]
    pub(crate) resume: Option<Share>,
}

#[derive(Args, Debug)]
pub(crate) struct OriginArgs {
    /// Port; 0 picks a free one
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Address to listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) address: std::net::IpAddr,
    /// Threads [default: one per core it may use]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) threads: Option<u64>,
    /// Serve the objects of this catalogue: lines of size, tab, path
    #[arg(long, visible_alias = "catalog", value_name = "FILE")]
    pub(crate) catalogue: Option<PathBuf>,
    // No comment of documentation: the brackets would be links.
    #[arg(
        long,
        value_name = "FILE",
        help = "Serve the world that this TOML file describes, over HTTP/1.1: what objects are in [[content]], think times \
                and limits of connections in [origin]"
    )]
    pub(crate) world: Option<PathBuf>,
    /// Serve the world of this bake-off's plan: a file, or the name of a shipped plan; over TLS where the plan says
    /// so. For `bakeoff robots`
    #[arg(long, value_name = "PLAN", conflicts_with = "world")]
    pub(crate) plan: Option<String>,
    /// Serve over TLS; makes a throw-away certificate unless --cert and --key are given
    #[arg(long)]
    pub(crate) tls: bool,
    /// PEM file of the certificate chain
    #[arg(long, value_name = "FILE", requires_all = ["key", "tls"])]
    pub(crate) cert: Option<PathBuf>,
    /// PEM file of the private key
    #[arg(long, value_name = "FILE", requires_all = ["cert", "tls"])]
    pub(crate) key: Option<PathBuf>,
    /// Extra CPU time on each request, such as 2us: a planted cost
    #[arg(long, value_name = "TIME")]
    pub(crate) burn: Option<Nanos>,
    /// Extra CPU time on each request for every further connection whose bytes were there at the last wait of its thread
    /// and that is served after it (at most 255): a planted cost that grows with the load
    #[arg(long, value_name = "TIME")]
    pub(crate) burn_in_flight: Option<Nanos>,
    /// Extra CPU time each time a thread wakes up after a first look found nothing: a planted cost per request that falls
    /// with the load. Compare with an origin that has 0us here: the look is a system call
    #[arg(long, value_name = "TIME")]
    pub(crate) burn_per_wakeup: Option<Nanos>,
    /// Replies may be kept by a cache for so long, in whole seconds: they have Cache-Control, ETag, and a number of their
    /// own by which `bakeoff run` tells hits
    #[arg(long, value_name = "TIME")]
    pub(crate) max_age: Option<Nanos>,
    /// Play what is behind a user's server: objects also answer to endings of their paths
    #[arg(long, value_name = "PROTOCOL", hide = true)]
    pub(crate) stand_in: Option<StandInProtocol>,
}

/// Protocol of a stand-in.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StandInProtocol {
    /// Over TLS where the origin is.
    Http,
    /// An application's.
    Fastcgi,
}

#[derive(Args, Debug)]
pub(crate) struct RobotsArgs {
    /// Plan file of a bake-off, or the name of a shipped one; with one rate
    #[arg(value_name = "PLAN")]
    pub(crate) plan: String,
    /// The origin, started by `bakeoff origin --plan PLAN` from the same plan
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) origin: String,
    /// Ask through this forward proxy
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "reverse")]
    pub(crate) proxy: Option<String>,
    /// Ask this reverse proxy, which stands in front of the origin
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) reverse: Option<String>,
    /// In place of the plan's rate, such as 50/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<PerSecond>,
    /// Share of the published durations, such as 1/60
    #[arg(long, value_name = "SHARE")]
    pub(crate) scale: Option<TimeScale>,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    /// Print a line an interval as `polyclt` did: polygraph, with the columns of 4.9.0, or polygraph-1, with
    /// those of 1999
    #[arg(long, value_name = "NAME", value_parser = ["polygraph", "polygraph-1"], hide_possible_values = true)]
    pub(crate) console: Option<String>,
    /// With --console: a line each TIME, such as 1s, in place of each 5 s
    #[arg(long, value_name = "TIME", requires = "console")]
    pub(crate) console_every: Option<Beat>,
    /// Be one of several processes or machines that make the run together, such as 1/2: each asks at its share of the
    /// rate, and they begin and end phases together
    #[arg(long, value_name = "N/OF")]
    pub(crate) part: Option<Part>,
    /// How long to wait for the other parts, at the start and at the end of each phase; after a start without them
    /// nothing is asked, after a phase without them this part goes on alone
    #[arg(long, value_name = "TIME", default_value = "60s", requires = "part")]
    pub(crate) wait: Nanos,
    /// Directory, new or empty, for intervals and phases as they end; `report` and `extract` read it
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
    /// With --log: also write a row for every request, as they happen, into DIR/transactions/*.parquet: 30 to
    /// 50 bytes of disk a request, some 17 MB an hour at 100/s
    #[cfg(feature = "parquet")]
    #[arg(long, requires = "log")]
    pub(crate) transactions: bool,
}

impl RobotsArgs {
    /// What writes every request down, if that is wanted.
    pub(crate) fn encode(&self) -> Option<Encode> {
        encode(self.transactions)
    }

    /// Those that change the plan, as they were typed.
    pub(crate) fn typed(&self) -> Vec<String> {
        let mut typed = vec![format!("--origin {}", self.origin)];
        typed.extend(self.proxy.iter().map(|address| format!("--proxy {address}")));
        typed.extend(self.reverse.iter().map(|address| format!("--reverse {address}")));
        typed.extend(self.rate.map(|rate| format!("--rate {rate}")));
        typed.extend(self.scale.map(|scale| format!("--scale {scale}")));
        typed.extend(self.encode().map(|_| "--transactions".to_owned()));
        typed.extend(self.source.typed());
        typed.extend(self.part.map(|part| format!("--part {part}")));
        typed
    }
}

#[derive(Args, Debug)]
pub(crate) struct ExtractArgs {
    /// Results directory of a bake-off of caches
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Only this run: a number from 0, in the order of runs.jsonl [default: every run that was measured]
    #[arg(long, value_name = "N", conflicts_with_all = ["entrant", "rate"])]
    pub(crate) run: Option<usize>,
    /// Only the rates of this entrant
    #[arg(long, value_name = "NAME")]
    pub(crate) entrant: Option<String>,
    /// Only this rate, such as 50/s
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<PerSecond>,
    /// This phase [default: those that were measured]
    #[arg(long, value_name = "NAME")]
    pub(crate) phase: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ConformanceArgs {
    /// A product to examine: `squid`, `varnish`, `nginx`, `apache`, `trafficserver`, `haproxy`, with a
    /// configuration of your own as in `squid=my.conf`; may be given more than once
    #[arg(long = "product", value_name = "NAME", required_unless_present = "into")]
    pub(crate) products: Vec<Entrant>,
    /// Examine the products of the bake-off in this results directory, and make its report again with what
    /// came of it
    #[arg(long, value_name = "DIR", conflicts_with_all = ["products", "plan", "out"])]
    pub(crate) into: Option<PathBuf>,
    /// The bake-off's plan whose stores the products have: a file, or the name of a shipped plan
    #[arg(long, value_name = "PLAN", default_value = "polymix-1")]
    pub(crate) plan: String,
    /// Directory of the suite: its own, or the one where npm installed it
    #[arg(long, value_name = "DIR", default_value = HERE)]
    pub(crate) suite: PathBuf,
    /// Most time of the suite for a product
    #[arg(long, value_name = "TIME", default_value = "10min")]
    pub(crate) time_limit: Nanos,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct LayerArgs {
    /// Handed on as they are; `--help` lists the layers
    #[arg(value_name = "ARGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) rest: Vec<std::ffi::OsString>,
}

#[derive(Args, Debug)]
pub(crate) struct PlansArgs {
    /// Print this plan's text, to be kept in a file and changed [default: list them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Write it into this directory, with the plans of its parts if it is a suite, to be changed and run from there
    #[arg(long, value_name = "DIR", requires = "name")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Plan or suite file, `-` for standard input, or the name of a shipped one
    #[arg(value_name = "PLAN")]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) set: SetArgs,
    #[command(flatten)]
    pub(crate) places: PlaceArgs,
}

impl CheckArgs {
    /// Words of a check with the same flags on another machine.
    pub(crate) fn words(&self, plan: String, generators: &Generators) -> Vec<String> {
        let words = ["check".to_owned(), plan];
        words.into_iter().chain(self.set.words()).chain(words_of(generators)).collect()
    }
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ReportArgs {
    /// Results directory
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Print every table and the conditions, not the answers alone
    #[arg(long)]
    pub(crate) verbose: bool,
    /// Also write slices.parquet: slices.csv with types and units
    #[cfg(feature = "parquet")]
    #[arg(long)]
    pub(crate) parquet: bool,
    #[command(flatten)]
    pub(crate) rules: RuleArgs,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Results directory
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Connections at once that the machine is judged by
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub(crate) connections: u64,
    /// New connections per second that it is judged by
    #[arg(long, value_name = "RATE")]
    pub(crate) rate: Option<PerSecond>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct StudiesArgs {
    /// Study to print [default: list them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep what a results directory says of its study in studies/runs; for those who build bakeoff
    #[arg(long, value_name = "DIR", conflicts_with_all = ["name", "json"])]
    pub(crate) keep: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct PricesArgs {
    /// Results directories of experiments and of suites, of one machine
    #[arg(value_name = "DIR", required = true)]
    pub(crate) dirs: Vec<PathBuf>,
    /// Print it as Markdown
    #[arg(long, conflicts_with = "json")]
    pub(crate) markdown: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Also of runs that shared the machine with other work
    #[arg(long)]
    pub(crate) anyway: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareResultsArgs {
    /// Results directory of the older run
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,
    /// Results directory of the newer run
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,
    /// More runs, such as those of other machines: a table of what each found, beside the first
    #[arg(value_name = "MORE")]
    pub(crate) more: Vec<PathBuf>,
    /// Only this arm [default: all that both runs have]
    #[arg(long, value_name = "ARM")]
    pub(crate) arm: Option<String>,
    /// A meter to compare; may be given more than once [default: the one that verdicts stand on]
    #[arg(long = "meter", value_name = "METER")]
    pub(crate) meters: Vec<String>,
    /// Compare although the runs did not do the same
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SchemaArgs {
    /// `plan` or `results`
    #[arg(value_parser = ["plan", "results"])]
    pub(crate) what: String,
}

#[derive(Args, Debug)]
pub(crate) struct MetersArgs {
    /// As docs/meters.md
    #[arg(long)]
    pub(crate) markdown: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(crate) struct ManualArgs {
    /// Directory of the pages; made if there is none
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}
