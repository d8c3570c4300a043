//! A bake-off's plan as typed, except the sections for robots, content and origin, which are read by the crates that
//! own them.

use super::turns::TurnOrder;
use serde::Deserialize;
use std::num::NonZeroU32;

/// `[bakeoff]`: what the user sets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BakeoffSection {
    /// Its title, for the head of the report.
    pub title: String,
    /// The entrants, the baseline first: `none` (robots ask the origin itself), `squid`, `varnish`, `nginx`, `apache`,
    /// `trafficserver`, `haproxy`. `--product` replaces them.
    pub products: Vec<String>,
    /// Number of passes, in each of which all have a turn with a start and a fill of its own. Default 1, at most 99.
    pub passes: Option<NonZeroU32>,
    /// Order of the entrants' turns, and of each one's rates: "random" (drawn from the seed, anew for every pass) or
    /// "plan". Default: random if more than one takes part.
    pub order: Option<TurnOrder>,
    /// Whether the first of them, the baseline, has two turns in each pass, so that the report can show the difference
    /// of two equal ones. Default: if more than one takes part.
    pub baseline_twice: Option<bool>,
    /// Form of the requests to a cache: `reverse` (the default) or `forward`.
    pub mode: Option<String>,
    /// Memory of each cache's store. Default "64MB".
    pub memory: Option<String>,
    /// Disk of each cache's store. Default none, if the product can do without.
    pub disk: Option<String>,
    /// Share of the published durations, such as "1/60". Default 1. `--scale` replaces it.
    pub scale: Option<String>,
    /// One run at this rate, such as "50/s", which `--rate` replaces; or "best effort": each robot asks again as
    /// soon as its page is complete.
    pub rate: Option<String>,
    /// Several runs, at these shares of the peak, such as ["100%", "10%"].
    pub rates: Option<Vec<String>>,
    /// With `rates`: the peak, such as "250/s"; left out, it is searched for.
    pub peak: Option<String>,
    /// With `rates`: the rate at which the search for the peak begins. Default "100/s".
    pub first_trial: Option<String>,
    /// With `rates`: most trials of the search. Default 8.
    pub trials: Option<u32>,
    /// Time without requests between two rates; it shrinks with the scale. Default "10min".
    pub idle: Option<String>,
    /// The hit ratio that the workload is set to: with it, runs are judged by the rule of 1999, which holds them
    /// against it. Default none: that rule is not for this workload.
    pub hit_ratio: Option<String>,
    /// Bound of the mean response time, by that rule and in the search for the peak. Default "3s".
    pub mean_bound: Option<String>,
    /// Most connections. Default: what the descriptors allow, at most 20,000.
    pub connections: Option<usize>,
    /// Local ports of the robots' connections, such as "1024:30000". Default: the kernel's. `--ports` replaces it.
    pub ports: Option<String>,
    /// Local addresses of the robots' connections, such as ["127.0.0.2-127.0.0.9"], used in turn, by robots with
    /// connections of their own one a robot; each has ports of its own. Default: the kernel's. `--from` replaces
    /// them.
    #[serde(default)]
    pub from: Vec<String>,
    /// Time limit of a request. Default "60s".
    pub timeout: Option<String>,
    /// Seed of everything that is drawn. Default 1.
    pub seed: Option<u64>,
    /// The study whose published figures stand beside this run's, as `bakeoff studies` names it. Default none.
    pub study: Option<String>,
    /// Differences from the workload that the plan is named after, kept and modernised parts, a line each.
    #[serde(default)]
    pub differs: Vec<String>,
}

/// `[population]`: numbers of robots and servers that follow from a run's rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PopulationSection {
    /// Rate of a robot, such as "0.4/s": there are as many robots as the run's rate takes.
    pub rate_per_robot: String,
    /// Servers that the URLs show. Default 1.
    pub servers: Option<u16>,
    /// One more server for this many robots.
    pub robots_per_server: Option<NonZeroU32>,
    /// The working set stops growing when this many objects were fetched: this share of the requests ...
    pub working_set: Option<String>,
    /// ... that the rate makes in this time, which shrinks with the scale.
    pub working_set_of: Option<String>,
}

/// `[fill]`: the filling of a store before anything is measured; left out, it is not filled.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FillSection {
    /// Robots that ask as fast as replies come.
    pub robots: usize,
    /// It ends when the store is full and evicts objects, by the product's own gauge; if that cannot be read, when this
    /// many times the store's capacity was fetched. Default 2.
    pub times: Option<f64>,
    /// Longest time, at any scale. Default "5min".
    pub longest: Option<String>,
}
