//! Typed maps of the loaded programs, and filling and emptying them for a table.
//!
//! Measured side, cold. Every entry of a table has its slot; filling or emptying touches nothing else.

use super::KernelError;
use super::automaton;
use super::layout::{
    self, AddressKey, Control, DESTINATIONS, ExactKey, NO_RULE, PathKey, Ports, Row, RuleBytes, Side, Tally,
};
use super::places::Places;
use crate::rules::AddressPrefix;
use crate::rules::table::{RuleTable, When};
use aya::Ebpf;
use aya::maps::lpm_trie::Key;
use aya::maps::{Array, HashMap, LpmTrie, Map, MapData, MapError, PerCpuArray, SockMap};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};

/// What listens where: an address or all of a family, a port, and whether it is another program.
pub type ListenerAddress = (AddressPrefix, u16, bool);

type Trie<K> = LpmTrie<MapData, K, u32>;

/// All maps that are written or read from here.
pub(super) struct Maps {
    control: Array<MapData, layout::ControlBytes>,
    ports: Array<MapData, Ports>,
    rules: Array<MapData, RuleBytes>,
    buckets: Array<MapData, [u64; 8]>,
    counts: PerCpuArray<MapData, Tally>,
    events: PerCpuArray<MapData, u64>,
    sources: Trie<AddressKey>,
    exact: HashMap<MapData, ExactKey, u32>,
    prefixes: Trie<PathKey>,
    automaton: Array<MapData, Row>,
    pub(super) listeners: SockMap<MapData>,
}

/// Entries of one table, so that they can be removed.
#[derive(Default)]
pub(super) struct Filled {
    sources: Vec<Key<AddressKey>>,
    exact: Vec<ExactKey>,
    prefixes: Vec<Key<PathKey>>,
}

/// A call that failed, and the map it was for.
pub(super) fn failed(map: &'static str) -> impl Fn(MapError) -> KernelError {
    move |error| KernelError::Map(map, said(&error))
}

/// An error and its causes, in one line.
pub(super) fn said(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), |cause| format!("{error}: {}", said(cause)))
}

impl Maps {
    /// Takes the maps from the loaded object.
    pub(super) fn of(ebpf: &mut Ebpf) -> Result<Self, KernelError> {
        Ok(Self {
            control: taken(ebpf, ".bss.control")?,
            ports: taken(ebpf, ".bss.ports")?,
            rules: taken(ebpf, "rules")?,
            buckets: taken(ebpf, "buckets")?,
            counts: taken(ebpf, "counts")?,
            events: taken(ebpf, "events")?,
            sources: taken(ebpf, "sources")?,
            exact: taken(ebpf, "exact")?,
            prefixes: taken(ebpf, "prefixes")?,
            automaton: taken(ebpf, "automaton")?,
            listeners: taken(ebpf, "listeners")?,
        })
    }

    /// Sets the control structure, which the programs see from the next packet on.
    pub(super) fn set_control(&mut self, control: &Control) -> Result<(), KernelError> {
        self.control.set(0, control.bytes(), 0).map_err(failed("control"))
    }

    pub(super) fn set_ports(&mut self, ports: &Ports) -> Result<(), KernelError> {
        self.ports.set(0, ports, 0).map_err(failed("ports"))
    }

    /// Inserts a table. If it fails, `filled` has the entries that were inserted.
    pub(super) fn fill(
        &mut self,
        table: &RuleTable,
        slot: usize,
        places: &Places,
        filled: &mut Filled,
    ) -> Result<Side, KernelError> {
        self.fill_rules(table, slot, places)?;
        self.fill_sources(table, slot, filled)?;
        let seed = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        for (path, id) in &table.exact {
            let key = layout::exact_key(path, seed);
            self.exact.insert(key, u32::from(id.0), 0).map_err(failed("exact"))?;
            filled.exact.push(key);
        }
        for (path, id) in &table.prefixes {
            let key = layout::path_key(path, slot);
            self.prefixes.insert(&key, u32::from(id.0), 0).map_err(failed("prefixes"))?;
            filled.prefixes.push(key);
        }
        self.fill_automaton(table, slot)?;
        let overload = table.overload.as_ref();
        let flags = [
            !table.exact.is_empty(),
            !table.prefixes.is_empty(),
            !table.contains.is_empty(),
            table.sources.iter().any(|source| source.to.is_some()),
            overload.is_some(),
            overload.is_some_and(|overload| overload.when == When::Overload),
        ];
        let [odd, unread] = [table.odd, table.unread].map(|rule| rule.map_or(NO_RULE, |id| u32::from(id.0)));
        Ok(Side { seed, flags, odd, unread, lowest: table.lowest() })
    }

    fn fill_rules(&mut self, table: &RuleTable, slot: usize, places: &Places) -> Result<(), KernelError> {
        for (id, rule) in table.rules.iter().enumerate() {
            let Some(place) = places.of(&rule.name) else { continue };
            if place.is_new {
                self.buckets.set(place.entry, [0; 8], 0).map_err(failed("buckets"))?;
                let none = vec![Tally::default(); cpus()?];
                let none = none.try_into().map_err(|error| failed("counts")(MapError::IoError(error)))?;
                self.counts.set(place.entry, none, 0).map_err(failed("counts"))?;
            }
            let bytes = layout::rule(rule, place.entry, place.per_id);
            self.rules.set((2 * id + slot) as u32, bytes, 0).map_err(failed("rules"))?;
        }
        Ok(())
    }

    /// Gives rules with other rates fresh buckets, once no packet is decided by the old ones.
    pub(super) fn renew(&mut self, places: &Places) {
        places.changed().for_each(|entry| drop(self.buckets.set(entry, [0; 8], 0)));
    }

    fn fill_sources(
        &mut self,
        table: &RuleTable,
        slot: usize,
        filled: &mut Filled,
    ) -> Result<(), KernelError> {
        for (number, destination) in table.by_destination().iter().enumerate() {
            for (prefix, id) in &destination.sources {
                self.put(layout::address_key(*prefix, slot, number), u32::from(id.0), filled)?;
            }
            if let Some(to) = destination.to {
                self.put(layout::address_key(to, slot, DESTINATIONS), number as u32, filled)?;
            }
        }
        Ok(())
    }

    /// Inserts what a listener has; all of IPv6 takes IPv4 as well.
    pub(super) fn put_listener(
        &mut self,
        (on, port, strange): ListenerAddress,
        filled: &mut Filled,
    ) -> Result<(), KernelError> {
        let both = (on.length() == 0 && on.address().is_ipv6()).then_some(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let all = both.and_then(|v4| AddressPrefix::of(v4, 0)).into_iter().chain([on]);
        for prefix in all {
            self.put(layout::listener_key(prefix, port), u32::from(strange), filled)?;
        }
        Ok(())
    }

    fn put(&mut self, key: Key<AddressKey>, value: u32, filled: &mut Filled) -> Result<(), KernelError> {
        self.sources.insert(&key, value, 0).map_err(failed("sources"))?;
        filled.sources.push(key);
        Ok(())
    }

    fn fill_automaton(&mut self, table: &RuleTable, slot: usize) -> Result<(), KernelError> {
        let patterns: Vec<&[u8]> = table.contains.iter().map(|(pattern, _)| pattern.as_slice()).collect();
        let rules: Vec<u16> = table.contains.iter().map(|(_, id)| id.0).collect();
        for (number, state) in automaton::states(&patterns).iter().enumerate() {
            let row = layout::row(state, &rules);
            self.automaton.set((2 * number + slot) as u32, row, 0).map_err(failed("automaton"))?;
        }
        Ok(())
    }

    /// Removes a table; a missing entry is no error.
    pub(super) fn empty(&mut self, filled: Filled) {
        for key in &filled.sources {
            let _gone = self.sources.remove(key);
        }
        for key in &filled.exact {
            let _gone = self.exact.remove(key);
        }
        for key in &filled.prefixes {
            let _gone = self.prefixes.remove(key);
        }
    }

    /// An event's count.
    pub(super) fn event(&self, event: usize) -> Result<u64, KernelError> {
        let counts = self.events.get(&(event as u32), 0).map_err(failed("events"))?;
        Ok(counts.iter().sum())
    }

    /// The numbers that a rule let through and refused.
    pub(super) fn tally(&self, entry: u32) -> Result<Tally, KernelError> {
        let tallies = self.counts.get(&entry, 0).map_err(failed("counts"))?;
        Ok(tallies.iter().fold([0; 2], |[passed, refused], tally| [passed + tally[0], refused + tally[1]]))
    }
}

fn cpus() -> Result<usize, KernelError> {
    aya::util::nr_cpus().map_err(|(_, error)| failed("counts")(MapError::IoError(error)))
}

fn taken<M: TryFrom<Map, Error = MapError>>(ebpf: &mut Ebpf, name: &'static str) -> Result<M, KernelError> {
    let none = || KernelError::Map(name, "not in the object".to_owned());
    M::try_from(ebpf.take_map(name).ok_or_else(none)?).map_err(failed(name))
}
