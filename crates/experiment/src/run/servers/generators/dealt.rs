//! Generators of a run: at which places, which lanes each has, and what cannot be done from another host.
//!
//! Cold, pure but for the nodes of a job, which Slurm is asked for. No plan names a place.

use crate::run::RunError;
use bakeoff_plan::{Arm, ArmKind, ExperimentGoal, Plan, Work};
use bakeoff_reach::{EndInfo, LEASE, Lab, Place, PlaceError, SlurmError};
use bakeoff_results::{PlaceSetup, Setup};
use bakeoff_subject::Spec;
use bakeoff_units::{Bytes, Nanos};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// Largest log that is handed over, as it is held in memory meanwhile.
const LARGEST_LOG: Bytes = Bytes::new(1 << 30);
/// The same of anything else.
const LARGEST: Bytes = Bytes::new(1 << 24);

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
    /// Socket of whoever calls them; `None`: they are called from here.
    pub(super) passed_by: Option<PathBuf>,
}

impl Generators {
    /// At these places.
    pub const fn at(places: Vec<Place>, address: Option<Ipv4Addr>) -> Self {
        Self { places, address, lanes: None, lease: LEASE, passed_by: None }
    }

    /// As they were typed. Nodes of a Slurm job reach this one, if it is the subject, at the address that Slurm knows.
    ///
    /// # Errors
    /// Slurm does not say which nodes there are, or where this one is.
    pub fn of(lab: &Lab) -> Result<Self, SlurmError> {
        let places = lab.places()?;
        let on_nodes = places.iter().any(|place| matches!(place, Place::Slurm(_)));
        let address = match lab.address {
            None if on_nodes && lab.subject.is_none() => Some(bakeoff_reach::own_address()?),
            given => given,
        };
        Ok(Self { passed_by: lab.passed_by.clone(), ..Self::at(places, address) })
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
        Work::Command(_) => return refused("commands are"),
        Work::Calls(_) => return refused("system calls are"),
        Work::Files(_) => return refused("operations on files are"),
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
fn refused(what: &str) -> Option<String> {
    Some(format!(
        "--generator is for requests to servers, and {what} made where they are measured; `run --at` makes them on another \
         machine"
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
    infos: &[EndInfo],
    before: Option<&[(String, u32)]>,
    connections: usize,
) -> Result<Vec<PlaceSetup>, RunError> {
    let mut first = 1;
    let mut dealt = Vec::new();
    for (index, (place, info)) in places.iter().zip(infos).enumerate() {
        let offered = info.threads.max(1) as u32;
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
    fn lanes_are_dealt_by_cores_and_connections_and_stay_when_a_run_goes_on() {
        let places: Vec<Place> = vec!["ssh:a".parse().unwrap(), "ssh:b".parse().unwrap()];
        let info = |host: &str, lanes| EndInfo { host: host.to_owned(), ..EndInfo::here(lanes) };
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
