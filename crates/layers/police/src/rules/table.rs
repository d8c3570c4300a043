//! The compiled rules: what the reference decides by, and what the kernel's maps are filled with.
//!
//! Measured side, cold, pure. Types only, and what follows from them; the text is `file`'s, what is wrong with it `check`'s.

use super::prefix::Prefix;
use bakeoff_layers_base::named;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Most rules of a table, as the kernel's maps hold them.
pub const RULES_MAX: usize = 16_384;
/// Most classes of a server.
pub const CLASSES_MAX: usize = 8;
/// Most different destinations that rules name.
pub const DESTINATIONS_MAX: usize = 64;
/// Most sources in all destinations together: a source that names none counts in each.
pub const SOURCES_MAX: usize = 65_536;
/// Most bytes of all `*contains*` patterns together: one automaton holds them, a state a byte and one to begin with.
pub const CONTAINS_BYTES_MAX: usize = 4_095;
/// Bytes of a segment's payload that are read.
pub const READ: usize = 252;
/// The longest path that is still read whole: behind `GET ` and before ` HTTP/1.`.
pub const PATH_MAX: usize = READ - 4 - 8;

/// Compiled rules. An index into `rules` is a rule's id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// What clients connect to, in order.
    pub ports: Vec<u16>,
    /// From highest to lowest; a class's number is its place. Empty: the server's queue is as it was.
    pub classes: Vec<Class>,
    /// All rules.
    pub rules: Vec<Rule>,
    /// The SYN stage: of all that hold, the longest source decides, and of equal sources the longest destination.
    pub sources: Vec<Source>,
    /// The head stage: whole paths, without a query.
    pub exact: Vec<(Vec<u8>, RuleId)>,
    /// What paths begin with, `/x/` of `/x/*`; the longest decides.
    pub prefixes: Vec<(Vec<u8>, RuleId)>,
    /// What paths contain, `x` of `*x*`; the first decides.
    pub contains: Vec<(Vec<u8>, RuleId)>,
    /// What becomes of heads that are not plain; without it they pass and are counted.
    pub odd: Option<RuleId>,
    /// Bounds of queues; without it nobody is refused for one.
    pub overload: Option<Overload>,
    /// SHA-256 of the text, in hex.
    pub digest: String,
}

/// A rule's place in [`Table::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);

/// A class of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name: letters, digits, `-`, `_`.
    pub name: String,
    /// Where the server itself listens for it.
    pub port: u16,
}

/// A rule of either stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The label of its counters, unique, without white space: `from-10.0.0.0/8`, `request-/cgi-bin/*`, `odd`.
    pub name: String,
    /// Its line in the file, from 1.
    pub line: u32,
    /// What is done first.
    pub action: Action,
    /// The class of a connection, or the one whose bound a request is held against.
    pub class: Option<u8>,
    /// How it is refused.
    pub refuse: Refuse,
    /// A bucket for each prefix, before the rule's own.
    pub per: Option<Per>,
}

/// What a rule does before classes come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Lets through.
    Pass,
    /// Lets through what conforms to a rate.
    Police(Rate),
    /// Refuses always.
    Refuse,
}

/// A rate, as GCRA has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// From one conforming arrival to the next, in ns; not 0.
    pub interval_ns: u64,
    /// How much earlier one may come, in ns: `(burst - 1) * interval`; below 2^61.
    pub tolerance_ns: u64,
}

impl Rate {
    /// Arrivals a second.
    pub fn per_second(self) -> f64 {
        1e9 / self.interval_ns as f64
    }

    /// How many may come at once.
    pub const fn burst(self) -> u64 {
        match self.tolerance_ns.checked_div(self.interval_ns) {
            Some(more) => more + 1,
            None => 1,
        }
    }
}

/// Buckets for the prefixes of one length within a rule's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Per {
    /// The prefix's length: 8 to 32 in IPv4, 16 to 64 in IPv6.
    pub length: u8,
    /// The rate of each.
    pub rate: Rate,
}

named! {
    /// How something is refused.
    pub enum Refuse {
        /// In silence; SYNs only.
        Drop "drop",
        /// With RST.
        Reset "reset",
        /// With a reply of status 503; heads only.
        Status503 "503",
        /// With a reply of status 429; heads only.
        Status429 "429",
    }
}

/// A source of the SYN stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who connects.
    pub prefix: Prefix,
    /// To which addresses, of the same family; without it all.
    pub to: Option<Prefix>,
    /// What is done.
    pub rule: RuleId,
}

/// Bounds of queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    /// How long one may wait in the queue, in ns.
    pub target_ns: u64,
    /// How much of the bound each class may fill, in thousandths, not above the class before it; as many as classes.
    pub shares: Vec<u16>,
    /// When rates hold.
    pub when: When,
}

/// When rates hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Only while a class's queue is at its bound.
    Overload,
}

/// The sources that hold for connections to one destination, each source once: what one table of a trie is filled with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Of all whose prefix holds, the longest is taken; `None` where none holds.
    pub to: Option<Prefix>,
    /// Longest first decides.
    pub sources: Vec<(Prefix, RuleId)>,
}

impl Table {
    /// A rule, by its id.
    pub fn rule(&self, id: RuleId) -> Option<&Rule> {
        self.rules.get(usize::from(id.0))
    }

    /// The class of a connection whose rule names none, or that no rule is about: the lowest; `None` without classes.
    pub fn lowest(&self) -> Option<u8> {
        self.classes.len().checked_sub(1).map(|last| last as u8)
    }

    /// Whether there is anything to be said of requests.
    pub fn has_requests(&self) -> bool {
        !(self.exact.is_empty() && self.prefixes.is_empty() && self.contains.is_empty()) || self.odd.is_some()
    }

    /// The same rules by destination, so that a lookup of the destination and then one of the source decide. The first has no
    /// destination; then shorter prefixes before longer ones.
    pub fn by_destination(&self) -> Vec<Destination> {
        let mut named: Vec<Prefix> = self.sources.iter().filter_map(|source| source.to).collect();
        named.sort_by_key(|to| (to.length(), to.address()));
        named.dedup();
        std::iter::once(None).chain(named.into_iter().map(Some)).map(|to| self.destination(to)).collect()
    }

    fn destination(&self, to: Option<Prefix>) -> Destination {
        let mut longest: BTreeMap<(IpAddr, u8), &Source> = BTreeMap::new();
        for source in self.sources.iter().filter(|source| source.holds_in(to)) {
            let key = (source.prefix.address(), source.prefix.length());
            let before = longest.get(&key).map(|before| before.to.map(Prefix::length));
            if before.is_none_or(|before| before < source.to.map(Prefix::length)) {
                longest.insert(key, source);
            }
        }
        Destination {
            to,
            sources: longest.into_values().map(|source| (source.prefix, source.rule)).collect(),
        }
    }
}

impl Source {
    /// Whether it holds for every address of a destination.
    fn holds_in(&self, to: Option<Prefix>) -> bool {
        match (self.to, to) {
            (None, None) => true,
            (None, Some(to)) => to.address().is_ipv4() == self.prefix.address().is_ipv4(),
            (Some(own), Some(to)) => own.length() <= to.length() && own.holds(to.address()),
            (Some(_), None) => false,
        }
    }
}
