//! Typed maps of the loaded programs, and filling and emptying them for a table.
//!
//! Measured side, cold. Every entry of a table has its slot; filling or emptying touches nothing else.

use super::KernelError;
use super::automaton;
use super::layout::{
    self, AddressKey, Control, CounterValues, DESTINATIONS, ExactKey, Key4, Key6, NO_RULE, PathKey, Ports,
    Row, RuleBytes, Side, flag,
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
    counts: PerCpuArray<MapData, CounterValues>,
    events: PerCpuArray<MapData, u64>,
    sources4: Trie<Key4>,
    sources6: Trie<Key6>,
    exact: HashMap<MapData, ExactKey, u32>,
    prefixes: Trie<PathKey>,
    automaton: Array<MapData, Row>,
    pub(super) listeners: SockMap<MapData>,
}

/// Entries of one table, so that they can be removed.
#[derive(Default)]
pub(super) struct Filled {
    v4: Vec<Key<Key4>>,
    v6: Vec<Key<Key6>>,
    exact: Vec<ExactKey>,
    prefixes: Vec<Key<PathKey>>,
}

/// A call that failed, and the map it was for.
pub(super) fn failed(map: &'static str) -> impl Fn(MapError) -> KernelError {
    move |error| KernelError::Map { map, why: said(&error) }
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
            sources4: taken(ebpf, "sources4")?,
            sources6: taken(ebpf, "sources6")?,
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
        places: &mut Places,
        filled: &mut Filled,
    ) -> Result<Side, KernelError> {
        self.fill_rules(table, slot, places)?;
        let destinations = self.fill_sources(table, slot, filled)?;
        let seed = [(); 2].map(|()| RandomState::new().build_hasher().finish());
        for (path, id) in &table.exact {
            let key = layout::exact_key(path, seed);
            self.exact.insert(key, u32::from(id.0), 0).map_err(failed("exact"))?;
            filled.exact.push(key);
        }
        // A prefix longer than the part of a path that is read never matches.
        let keys = table.prefixes.iter().filter_map(|(path, id)| Some((layout::path_key(path, slot)?, id)));
        for ((bits, key), id) in keys {
            let key = Key::new(bits, key);
            self.prefixes.insert(&key, u32::from(id.0), 0).map_err(failed("prefixes"))?;
            filled.prefixes.push(key);
        }
        self.fill_automaton(table, slot)?;
        let has = |some: bool, flag: u32| if some { flag } else { 0 };
        let overload = table.overload.as_ref();
        let flags = has(!table.exact.is_empty(), flag::EXACT)
            | has(!table.prefixes.is_empty(), flag::PREFIX)
            | has(!table.contains.is_empty(), flag::CONTAINS)
            | has(overload.is_some(), flag::BOUNDED)
            | has(overload.is_some_and(|overload| overload.when == When::Overload), flag::ON_OVERLOAD)
            | destinations;
        let [odd, unread] = [table.odd, table.unread].map(|rule| rule.map_or(NO_RULE, |id| u32::from(id.0)));
        Ok(Side { seed, flags, odd, unread, lowest: table.lowest() })
    }

    fn fill_rules(&mut self, table: &RuleTable, slot: usize, places: &mut Places) -> Result<(), KernelError> {
        let most = self.rules.len() as usize / 2;
        let full = || KernelError::Full { what: "rules", wanted: table.rules.len(), most };
        if table.rules.len() > most {
            return Err(full());
        }
        for (id, rule) in table.rules.iter().enumerate() {
            let placed = places.of(rule).ok_or_else(full)?;
            if placed.fresh_bucket {
                self.buckets.set(placed.place.bucket, [0; 8], 0).map_err(failed("buckets"))?;
            }
            if placed.fresh_counter {
                let none = vec![CounterValues::default(); cpus()?];
                let none = none.try_into().map_err(|error| failed("counts")(MapError::IoError(error)))?;
                self.counts.set(placed.place.counter, none, 0).map_err(failed("counts"))?;
            }
            let bytes = layout::rule(rule, placed.place);
            self.rules.set((2 * id + slot) as u32, bytes, 0).map_err(failed("rules"))?;
        }
        Ok(())
    }

    /// Inserts the sources; returns the flags of named destinations.
    fn fill_sources(
        &mut self,
        table: &RuleTable,
        slot: usize,
        filled: &mut Filled,
    ) -> Result<u32, KernelError> {
        let mut flags = 0;
        for (number, destination) in table.by_destination().iter().enumerate() {
            for (prefix, id) in &destination.sources {
                self.put(layout::address_key(*prefix, slot, number), u32::from(id.0), filled)?;
            }
            if let Some(to) = destination.to {
                self.put(layout::address_key(to, slot, DESTINATIONS), number as u32, filled)?;
                flags |= if to.address().is_ipv4() { flag::TO4 } else { flag::TO6 };
            }
        }
        Ok(flags)
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

    fn put(&mut self, key: AddressKey, value: u32, filled: &mut Filled) -> Result<(), KernelError> {
        match key {
            AddressKey::V4(bits, key) => {
                let key = Key::new(bits, key);
                self.sources4.insert(&key, value, 0).map_err(failed("sources4"))?;
                filled.v4.push(key);
            }
            AddressKey::V6(bits, key) => {
                let key = Key::new(bits, key);
                self.sources6.insert(&key, value, 0).map_err(failed("sources6"))?;
                filled.v6.push(key);
            }
        }
        Ok(())
    }

    fn fill_automaton(&mut self, table: &RuleTable, slot: usize) -> Result<(), KernelError> {
        let patterns: Vec<&[u8]> = table.contains.iter().map(|(pattern, _)| pattern.as_slice()).collect();
        let rules: Vec<u16> = table.contains.iter().map(|(_, id)| id.0).collect();
        let wanted = patterns.iter().map(|pattern| pattern.len()).sum();
        let full = KernelError::Full { what: "bytes of patterns", wanted, most: automaton::STATES - 1 };
        let states =
            if patterns.is_empty() { Vec::new() } else { automaton::states(&patterns).ok_or(full)? };
        for (number, state) in states.iter().enumerate() {
            let row = layout::row(state, &rules);
            self.automaton.set((2 * number + slot) as u32, row, 0).map_err(failed("automaton"))?;
        }
        Ok(())
    }

    /// Removes a table; a missing entry is no error.
    pub(super) fn empty(&mut self, filled: Filled) {
        for key in &filled.v4 {
            let _gone = self.sources4.remove(key);
        }
        for key in &filled.v6 {
            let _gone = self.sources6.remove(key);
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

    /// The number that a rule let through, then its refusals by reason.
    pub(super) fn tally(&self, counter: u32) -> Result<CounterValues, KernelError> {
        let mut sum = CounterValues::default();
        for tally in self.counts.get(&counter, 0).map_err(failed("counts"))?.iter() {
            sum.iter_mut().zip(tally).for_each(|(sum, count)| *sum += count);
        }
        Ok(sum)
    }
}

fn cpus() -> Result<usize, KernelError> {
    aya::util::nr_cpus().map_err(|(_, error)| failed("counts")(MapError::IoError(error)))
}

fn taken<M: TryFrom<Map, Error = MapError>>(ebpf: &mut Ebpf, name: &'static str) -> Result<M, KernelError> {
    let none = || KernelError::Map { map: name, why: "not in the object".to_owned() };
    M::try_from(ebpf.take_map(name).ok_or_else(none)?).map_err(failed(name))
}
