//! Places of generators: how they are typed, which lanes each has, and what cannot be done from another host.
//!
//! Cold, pure but for the nodes of a job, which Slurm is asked for. No plan names a place.

use super::executable::Executable;
use super::message::GeneratorInfo;
use super::slurm::{self, SlurmError};
use crate::run::RunError;
use bakeoff_plan::{Arm, ArmKind, ExperimentGoal, Plan, Work};
use bakeoff_results::{PlaceSetup, Setup};
use bakeoff_subject::Spec;
use bakeoff_units::{Bytes, Nanos};
use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;
use std::str::FromStr;

/// Silence after which a generator is lost, and after which it ends by itself.
const LEASE: Nanos = Nanos::from_secs(6);
/// Largest log that is handed over, as it is held in memory meanwhile.
const LARGEST_LOG: Bytes = Bytes::new(1 << 30);
/// The same of anything else.
const LARGEST: Bytes = Bytes::new(1 << 24);
/// A host that does not answer is not waited for, no question is asked, and nothing of the user's own settings turns the
/// channel into something else.
const SSH: [&str; 9] = [
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=5",
    "-o",
    "ControlPath=none",
    "-o",
    "RemoteCommand=none",
];
/// A step of the job that takes nothing away from others, and has the whole node.
const SRUN: [&str; 6] = ["srun", "--overlap", "--nodes=1", "--ntasks=1", "--cpu-bind=none", "--mpi=none"];
/// Words of the far end, behind the executable.
const GENERATOR: [&str; 2] = ["generator", "--stdio"];
/// Words of a far end that shows whether one gets there at all.
const TRIAL: &str = "hostname";
/// All other nodes of a job.
const OTHER_NODES: &str = "slurm";

/// Place of a generator, with its launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// On a host that one can log in to.
    Ssh(String),
    /// On a node of the Slurm job.
    Slurm(String),
    /// By any launcher.
    Via {
        /// As it was typed.
        typed: String,
        /// Its words.
        words: Vec<String>,
    },
}

/// A text that is no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no place of a generator: {why}; such as ssh:HOST, slurm, or via:WORDS with the words of any launcher, as \
     in 'via:docker exec -i load bakeoff generator --stdio'"
)]
pub struct PlaceError {
    text: String,
    why: &'static str,
}

impl FromStr for Place {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let wrong = |why| PlaceError { text: text.to_owned(), why };
        let named = |host: &str| {
            let is_host = !host.is_empty() && !host.starts_with('-') && !host.contains(char::is_whitespace);
            if is_host { Ok(host.to_owned()) } else { Err(wrong("there is no host")) }
        };
        if let Some(host) = text.strip_prefix("ssh:") {
            return named(host).map(Self::Ssh);
        }
        if let Some(node) = text.strip_prefix("slurm:") {
            return named(node).map(Self::Slurm);
        }
        let Some(typed) = text.strip_prefix("via:") else {
            return Err(wrong("it does not begin with ssh:, slurm or via:"));
        };
        let words = shlex::split(typed).ok_or_else(|| wrong("a quote is not closed"))?;
        if words.is_empty() {
            return Err(wrong("there are no words"));
        }
        Ok(Self::Via { typed: typed.trim().to_owned(), words })
    }
}

impl Place {
    /// The launcher's words, and behind them those of a far end that has or takes this executable.
    pub(super) fn words(&self, executable: &Executable) -> Vec<String> {
        let mut words = self.launcher();
        match self {
            Self::Ssh(_) => words.extend(executable.words(&GENERATOR, true)),
            Self::Slurm(_) => words.extend(executable.words(&GENERATOR, false)),
            Self::Via { .. } => {}
        }
        words
    }

    /// A command for a shell that shows whether the launcher gets there.
    pub(super) fn trial(&self) -> String {
        let mut words = self.launcher();
        if !matches!(self, Self::Via { .. }) {
            words.push(TRIAL.to_owned());
        }
        shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
    }

    fn launcher(&self) -> Vec<String> {
        let owned = |words: &[&[&str]]| words.concat().into_iter().map(str::to_owned).collect();
        match self {
            Self::Ssh(host) => owned(&[&["ssh"], &SSH, &["--", host]]),
            Self::Slurm(node) => owned(&[&SRUN, &["--nodelist", node, "--"]]),
            Self::Via { words, .. } => words.clone(),
        }
    }
}

/// As it was typed.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ssh(host) => write!(f, "ssh:{host}"),
            Self::Slurm(node) => write!(f, "slurm:{node}"),
            Self::Via { typed, .. } => write!(f, "via:{typed}"),
        }
    }
}

/// Several places with commas between them; a comma within the words of a launcher is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceList(Vec<Typed>);

/// What stands between two commas.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Typed {
    One(Place),
    OtherNodes,
}

impl FromStr for Typed {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        if text == OTHER_NODES { Ok(Self::OtherNodes) } else { text.parse().map(Self::One) }
    }
}

impl FromStr for PlaceList {
    type Err = PlaceError;

    fn from_str(text: &str) -> Result<Self, PlaceError> {
        let mut parts: Vec<String> = Vec::new();
        for part in text.split(',') {
            let begins =
                part == OTHER_NODES || ["ssh:", "slurm:", "via:"].iter().any(|kind| part.starts_with(kind));
            match parts.last_mut() {
                Some(last) if !begins => *last = format!("{last},{part}"),
                _ => parts.push(part.to_owned()),
            }
        }
        parts.iter().map(|part| part.parse()).collect::<Result<_, _>>().map(Self)
    }
}

/// The generators of a run; none: the load comes from this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generators {
    /// Their places.
    pub places: Vec<Place>,
    /// Address of this machine that they reach, where servers listen; none: that of loopback.
    pub address: Option<Ipv4Addr>,
    /// Hosts and numbers of lanes that the run began with.
    pub(super) lanes: Option<Vec<(String, u32)>>,
    /// Silence after which one is lost.
    pub(super) lease: Nanos,
}

impl Generators {
    /// At these places.
    pub const fn at(places: Vec<Place>, address: Option<Ipv4Addr>) -> Self {
        Self { places, address, lanes: None, lease: LEASE }
    }

    /// As they were typed. Nodes of a Slurm job reach this one at the address that Slurm knows.
    ///
    /// # Errors
    /// Slurm does not say which nodes there are, or where this one is.
    pub fn typed(lists: &[PlaceList], address: Option<Ipv4Addr>) -> Result<Self, SlurmError> {
        let mut places = Vec::new();
        for typed in lists.iter().flat_map(|list| &list.0) {
            match typed {
                Typed::One(place) => places.push(place.clone()),
                Typed::OtherNodes => places.extend(slurm::other_nodes()?.into_iter().map(Place::Slurm)),
            }
        }
        let on_nodes = places.iter().any(|place| matches!(place, Place::Slurm(_)));
        let address = match address {
            None if on_nodes => Some(slurm::own_address()?),
            given => given,
        };
        Ok(Self::at(places, address))
    }

    /// Those of a run that began earlier, with the same lanes.
    ///
    /// # Errors
    /// A place that this build does not know.
    pub fn of_setup(setup: &Setup) -> Result<Self, PlaceError> {
        let places = setup.places.iter().map(|place| place.place.parse()).collect::<Result<_, _>>()?;
        let lanes = setup.places.iter().map(|place| (place.host.clone(), place.lanes)).collect();
        Ok(Self { lanes: Some(lanes), ..Self::at(places, setup.address) })
    }
}

/// The reason why a plan cannot be run with generators at these places; `None`: it can, as far as one can say before they are there.
pub fn refusal(plan: &Plan, generators: &Generators) -> Option<String> {
    let Generators { places, address, .. } = generators;
    if places.is_empty() {
        let idle = address
            .map(|_| "--address is for --generator: without it servers listen on 127.0.0.1; take it out");
        return idle.map(str::to_owned);
    }
    let work = match &plan.work {
        Work::Requests(work) => work,
        Work::Command(_) => return refused("commands are", "run `bakeoff` on the other machine itself"),
        Work::Calls(_) => return refused("system calls are", "run `bakeoff` on the other machine itself"),
        Work::Files(_) => {
            return refused("operations on files are", "run `bakeoff` on the other machine itself");
        }
    };
    if plan.link.is_some() {
        return Some(
            "link: a link is made on one machine, between its generator and its servers; leave it out, or --generator"
                .to_owned(),
        );
    }
    if !matches!(plan.kind, ExperimentGoal::Compare) {
        return Some(
            "a search for the highest rate has no lanes on other hosts; leave --generator out".to_owned(),
        );
    }
    if work.timed.is_some() || !work.populations.is_empty() || plan.arms.iter().any(|arm| arm.load.is_some())
    {
        return Some(
            "slices by time, populations and loads of single arms have no lanes on other hosts; leave --generator out, \
             or `slice_time`, `[population.NAME]` and the arm's load"
                .to_owned(),
        );
    }
    let from = plan.arms.iter().find(|arm| arm.client.from.count() > 0);
    if let Some(Arm { name, .. }) = from {
        return Some(format!(
            "{name}: `from` names addresses of this machine, and connections come from those of the generators; leave it out"
        ));
    }
    let shows_key = |arm: &&Arm| arm.client.tls.identity.is_some() || arm.client.shows_made_certificate;
    if let Some(Arm { name, .. }) = plan.arms.iter().find(shows_key) {
        return Some(format!(
            "{name}: the client shows a certificate, and no key is handed to another host; leave it out, or --generator"
        ));
    }
    let remote = places.iter().position(|place| !matches!(place, Place::Via { .. }));
    if let Some((number, name)) = remote.zip(on_loopback(plan)) {
        return Some(loopback_url(name, &format!("generator {} ({})", number + 1, places[number])));
    }
    let fewest = super::fewest_connections(plan, work);
    (fewest < places.len()).then(|| {
        format!(
            "{} generators share {fewest} connections, and each needs one; give more connections (`robots` or \
             `connections`), or fewer generators",
            places.len()
        )
    })
}

#[expect(clippy::unnecessary_wraps, reason = "one of several refusals")]
fn refused(what: &str, instead: &str) -> Option<String> {
    Some(format!(
        "--generator is for requests to servers, and {what} made where they are measured; {instead}"
    ))
}

/// The first arm whose URL is on the loopback device of this machine.
fn on_loopback(plan: &Plan) -> Option<&str> {
    plan.arms.iter().find(|arm| is_url(arm) && crate::run::need::is_local(arm)).map(|arm| arm.name.as_str())
}

const fn is_url(arm: &Arm) -> bool {
    matches!(&arm.what, ArmKind::Server(Spec::Url { .. }))
}

fn loopback_url(arm: &str, generator: &str) -> String {
    format!(
        "{arm}: its URL is on 127.0.0.1, which {generator} would look for on its own host; name the address of this machine"
    )
}

/// Refuses a generator that would look for the servers on its own loopback device.
pub(super) fn demand_reach(
    plan: &Plan,
    number: usize,
    host: &str,
    is_here: bool,
    has_address: bool,
) -> Result<(), RunError> {
    let generator = PlaceSetup::in_words(number, host);
    if is_here {
        return Ok(());
    }
    if let Some(arm) = on_loopback(plan) {
        return Err(RunError::Generators(loopback_url(arm, &generator)));
    }
    if !has_address && plan.arms.iter().any(|arm| !is_url(arm)) {
        return Err(RunError::Generators(format!(
            "{generator} is not in this machine's network, and servers listen on 127.0.0.1; give the address of this machine \
             that it reaches, as in --address 10.0.0.2"
        )));
    }
    Ok(())
}

/// Refuses files that cannot be handed over.
pub(super) fn demand_size(name: &str, path: &Path) -> Result<(), RunError> {
    let most = if name == super::LOG { LARGEST_LOG } else { LARGEST };
    let size = path.metadata().ok().filter(|metadata| metadata.is_file()).map(|metadata| metadata.len());
    if size.is_some_and(|size| size <= most.get()) {
        return Ok(());
    }
    Err(RunError::Generators(format!(
        "{}: generators take files of up to {most}, and this is none; cut it or put it into one, or leave --generator out",
        path.display()
    )))
}

/// Deals lanes: to each generator as many as it offers, but no more than there are connections for. A run that goes on
/// has those that it began with.
pub(super) fn dealt(
    places: &[Place],
    infos: &[GeneratorInfo],
    before: Option<&[(String, u32)]>,
    connections: usize,
) -> Result<Vec<PlaceSetup>, RunError> {
    let mut first = 1;
    let mut dealt = Vec::new();
    for (index, (place, info)) in places.iter().zip(infos).enumerate() {
        let offered = info.lanes.max(1) as u32;
        let share = (connections / places.len()).max(1) as u32;
        let began = before.and_then(|before| before.get(index));
        let lanes = began.map_or(offered.min(share), |(_, lanes)| *lanes);
        if let Some((host, lanes)) = began.filter(|(host, lanes)| *host != info.host || *lanes > offered) {
            return Err(RunError::Generators(format!(
                "{} offers {offered} lanes, and the run began with {lanes} on {host}; go on with that, or start a new run",
                PlaceSetup::in_words(index + 1, &info.host)
            )));
        }
        dealt.push(PlaceSetup {
            role: "generator".to_owned(),
            place: place.to_string(),
            host: info.host.clone(),
            boot: info.boot.clone(),
            build: info.build.clone(),
            cores: offered,
            first_lane: first,
            lanes,
            ..PlaceSetup::default()
        });
        first += lanes;
    }
    Ok(dealt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_what_was_typed_and_a_comma_in_a_launcher_s_words_is_its_own() {
        let list: PlaceList = "ssh:load-1,via:sh -c 'a,b c',slurm:n7,ssh:root@load-2".parse().unwrap();
        let places = Generators::typed(&[list], Some(Ipv4Addr::LOCALHOST)).unwrap().places;
        let typed: Vec<String> = places.iter().map(Place::to_string).collect();
        assert_eq!(typed, ["ssh:load-1", "via:sh -c 'a,b c'", "slurm:n7", "ssh:root@load-2"]);
        let own = Executable::own().unwrap();
        assert_eq!(places[1].words(&own), ["sh", "-c", "a,b c"]);
        let ssh = places[0].words(&own);
        assert_eq!(ssh[..4], ["ssh", "-T", "-o", "BatchMode=yes"]);
        let at = ssh.iter().position(|word| word == "load-1").unwrap();
        assert_eq!(ssh[at - 1..=at + 2], ["--", "load-1", "sh", "-c"]);
        assert!(
            ssh[at + 3].starts_with("'umask") && ssh[at + 3].ends_with('\''),
            "for a login shell: {ssh:?}"
        );
        assert_eq!(ssh[ssh.len() - 2..], ["generator", "--stdio"]);
        let srun = places[2].words(&own);
        assert_eq!(srun[..2], ["srun", "--overlap"]);
        let at = srun.iter().position(|word| word == "n7").unwrap();
        assert_eq!(srun[at - 1..=at + 3], ["--nodelist", "n7", "--", "sh", "-c"]);
        assert!(srun[at + 4].starts_with("umask"), "for no shell: {srun:?}");
        assert!(places[0].trial().ends_with("-- load-1 hostname"), "{}", places[0].trial());
        let other: PlaceList = "via:sh -c x,slurm".parse().unwrap();
        assert_eq!(other.0[1], Typed::OtherNodes);
        for (text, why) in [
            ("load-1", "does not begin"),
            ("ssh:", "no host"),
            ("slurm:", "no host"),
            ("ssh:-oProxyCommand=x", "no host"),
            ("via: ", "no words"),
            ("via:sh 'x", "quote"),
        ] {
            let error = text.parse::<PlaceList>().unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn lanes_are_dealt_by_cores_and_connections_and_stay_when_a_run_goes_on() {
        let places: Vec<Place> = vec!["ssh:a".parse().unwrap(), "ssh:b".parse().unwrap()];
        let info =
            |host: &str, lanes| GeneratorInfo { host: host.to_owned(), lanes, ..GeneratorInfo::here(0) };
        let of = |lanes: [usize; 2], before: Option<[u32; 2]>, connections| {
            let infos = [info("a", lanes[0]), info("b", lanes[1])];
            let before = before.map(|[a, b]| vec![("a".to_owned(), a), ("b".to_owned(), b)]);
            let dealt = dealt(&places, &infos, before.as_deref(), connections);
            dealt.map(|dealt| dealt.iter().map(|place| (place.first_lane, place.lanes)).collect::<Vec<_>>())
        };
        assert_eq!(of([4, 8], None, 64).unwrap(), [(1, 4), (5, 8)]);
        assert_eq!(of([4, 8], None, 5).unwrap(), [(1, 2), (3, 2)]);
        assert_eq!(of([4, 8], Some([2, 3]), 64).unwrap(), [(1, 2), (3, 3)]);
        let error = of([1, 8], Some([2, 3]), 64).unwrap_err().to_string();
        assert!(error.contains("(a) offers 1 lanes, and the run began with 2 on a"), "{error}");
        let other =
            dealt(&places[..1], &[info("c", 4)], Some(&[("a".to_owned(), 2)]), 64).unwrap_err().to_string();
        assert!(other.contains("generator 1 (c) offers 4 lanes, and the run began with 2 on a"), "{other}");
    }
}
