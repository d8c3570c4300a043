//! Compiled rules: input of the reference, and content of the kernel's maps.
//!
//! Measured side, cold, pure. Types only, and derived values; `file` has the text, and `compile` its faults.

use super::prefix::AddressPrefix;
use bakeoff_layers_base::named;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Limit on rules of a table, from the kernel's maps.
pub const RULES_MAX: usize = 16_384;
/// Limit on classes of a server.
pub const CLASSES_MAX: usize = 8;
/// Limit on different destinations in rules.
pub const DESTINATIONS_MAX: usize = 64;
/// Limit on sources in all destinations together: a source without one counts in each.
pub const SOURCES_MAX: usize = 65_536;
/// Limit on bytes of all `*contains*` patterns together: one automaton holds them, a state a byte and an initial one.
pub const CONTAINS_BYTES_MAX: usize = 4_095;
/// Bytes of a segment's payload that are read.
pub const READ: usize = 252;
/// The longest path that is still read whole: behind `GET ` and before ` HTTP/1.`.
pub const PATH_MAX: usize = READ - 4 - 8;

/// Compiled rules. An index into `rules` is a rule's id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleTable {
    /// Public ports, in order.
    pub ports: Vec<u16>,
    /// From highest to lowest; a class's number is its position. Empty: the server's queue is unchanged.
    pub classes: Vec<ConnectionClass>,
    /// All rules.
    pub rules: Vec<StageRule>,
    /// The SYN stage: of all matching ones, the longest source decides, and of equal sources the longest destination.
    pub sources: Vec<SynSource>,
    /// The head stage: whole paths, without a query.
    pub exact: Vec<(Vec<u8>, RuleId)>,
    /// Prefixes of paths, `/x/` of `/x/*`; the longest decides.
    pub prefixes: Vec<(Vec<u8>, RuleId)>,
    /// Parts of paths, `x` of `*x*`; the first decides.
    pub contains: Vec<(Vec<u8>, RuleId)>,
    /// Rule for heads that are not plain; without it they pass and are counted.
    pub odd: Option<RuleId>,
    /// Rule for connections that are not read any more; without it they pass and are counted.
    pub unread: Option<RuleId>,
    /// Bounds of queues; without it nobody is refused for one.
    pub overload: Option<Overload>,
    /// SHA-256 of the text, in hex.
    pub digest: String,
}

/// A rule's index in [`RuleTable::rules`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u16);

/// A class of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionClass {
    /// Its name: letters, digits, `-`, `_`.
    pub name: String,
    /// Port on which the server itself listens for it.
    pub port: u16,
}

/// A rule of either stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageRule {
    /// The label of its counters, unique, without white space: `from-10.0.0.0/8`, `request-/cgi-bin/*`, `odd`, `unread`.
    pub name: String,
    /// Its line in the file, from 1.
    pub line: u32,
    /// The first action.
    pub action: RuleAction,
    /// The class of a connection, or the one whose bound applies to a request.
    pub class: Option<u8>,
    /// The way of refusing.
    pub refuse: Refuse,
    /// A bucket for each prefix, before the rule's own.
    pub per: Option<Per>,
}

/// Action of a rule, before classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleAction {
    /// Lets through.
    Pass,
    /// Lets through arrivals that conform to a rate.
    Police(Rate),
    /// Refuses always.
    Refuse,
}

/// A rate in the form of GCRA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Interval between two conforming arrivals, in ns; not 0.
    pub interval_ns: u64,
    /// Time by which one may come early, in ns: `(burst - 1) * interval`; below 2^61.
    pub tolerance_ns: u64,
}

impl Rate {
    /// Arrivals a second.
    pub fn per_second(self) -> f64 {
        1e9 / self.interval_ns as f64
    }

    /// Number of arrivals that may come at once.
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
    /// How something is refused. The programs know it by its place.
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
pub struct SynSource {
    /// Addresses of clients.
    pub prefix: AddressPrefix,
    /// Addresses of the server, of the same family; `None` for all.
    pub to: Option<AddressPrefix>,
    /// The rule for these.
    pub rule: RuleId,
}

/// Bounds of queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overload {
    /// Longest time in the queue, in ns.
    pub target_ns: u64,
    /// Share of the bound that each class may fill, in thousandths, not above the class before it; one for each
    /// class.
    pub shares: Vec<u16>,
    /// Times at which rates apply.
    pub when: When,
}

/// Times at which rates apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// Only while a class's queue is at its bound.
    Overload,
}

/// The sources for connections to one destination, each source once: content of one table of a trie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The longest matching prefix is taken; `None` if none matches.
    pub to: Option<AddressPrefix>,
    /// The longest matching one decides.
    pub sources: Vec<(AddressPrefix, RuleId)>,
}

impl RuleTable {
    /// A rule, by its id.
    pub fn rule(&self, id: RuleId) -> Option<&StageRule> {
        self.rules.get(usize::from(id.0))
    }

    /// Class of a connection without a rule, or whose rule names none: the lowest; `None` without classes.
    pub fn lowest(&self) -> Option<u8> {
        self.classes.len().checked_sub(1).map(|last| last as u8)
    }

    /// Whether there are rules for requests.
    pub fn has_requests(&self) -> bool {
        let paths = [&self.exact, &self.prefixes, &self.contains];
        paths.iter().any(|paths| !paths.is_empty()) || self.odd.is_some() || self.unread.is_some()
    }

    /// The same rules by destination, so that a lookup of the destination and then one of the source decide. The
    /// first has no destination; then shorter prefixes before longer ones.
    pub fn by_destination(&self) -> Vec<Destination> {
        let mut named: Vec<AddressPrefix> = self.sources.iter().filter_map(|source| source.to).collect();
        named.sort_by_key(|to| (to.length(), to.address()));
        named.dedup();
        std::iter::once(None).chain(named.into_iter().map(Some)).map(|to| self.destination(to)).collect()
    }

    fn destination(&self, to: Option<AddressPrefix>) -> Destination {
        let mut longest: BTreeMap<(IpAddr, u8), &SynSource> = BTreeMap::new();
        for source in self.sources.iter().filter(|source| source.holds_in(to)) {
            let key = (source.prefix.address(), source.prefix.length());
            let before = longest.get(&key).map(|before| before.to.map(AddressPrefix::length));
            if before.is_none_or(|before| before < source.to.map(AddressPrefix::length)) {
                longest.insert(key, source);
            }
        }
        Destination {
            to,
            sources: longest.into_values().map(|source| (source.prefix, source.rule)).collect(),
        }
    }
}

impl SynSource {
    /// Whether it applies to every address of a destination.
    fn holds_in(&self, to: Option<AddressPrefix>) -> bool {
        match (self.to, to) {
            (None, None) => true,
            (None, Some(to)) => to.address().is_ipv4() == self.prefix.address().is_ipv4(),
            (Some(own), Some(to)) => own.length() <= to.length() && own.holds(to.address()),
            (Some(_), None) => false,
        }
    }
}
