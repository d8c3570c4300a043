//! Programs in the kernel, and their attachments.
//!
//! Measured side, cold.

use super::layout::{Control, EVENTS, Ports, SOCKETS};
use super::maps::{Filled, ListenerAddress, Maps, failed, said};
use super::places::Places;
use super::{KernelCounters, KernelError, MissingFeature, RuleCount, Runs};
use crate::rules::table::RuleTable;
use aya::programs::links::FdLink;
use aya::programs::tc::TcAttachOptions;
use aya::programs::{
    LinkOrder, Program, ProgramError, SchedClassifier, SkLookup, TcAttachType, Xdp, XdpMode,
};
use aya::sys::Stats;
use aya::{Ebpf, include_bytes_aligned};
use bakeoff_layers_base::named;
use bakeoff_sys::bpf::{Hook, attached, held};
use nix::errno::Errno;
use nix::net::if_::if_nametoindex;
use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// `bpf/police.bpf.c`, compiled by `make bpf`.
static OBJECT: &[u8] = include_bytes_aligned!("../../bpf/police.bpf.o");

named! {
    /// What is done with what is decided. The programs know it by its place.
    pub enum PoliceMode {
        /// It is done.
        Enforce "enforce",
        /// It is counted, and nothing is refused.
        Log "log",
        /// Nothing is decided: every packet passes at once. Nothing is steered either.
        Off "off",
    }
}

/// One of the server's listening sockets.
#[derive(Clone, Copy, Debug)]
pub struct ServerListener<'s> {
    /// The class.
    pub class: u8,
    /// The socket, from any process.
    pub socket: BorrowedFd<'s>,
}

/// Programs in the kernel. When dropped, all are removed.
pub struct Programs {
    ebpf: Ebpf,
    maps: Maps,
    control: Control,
    ports: Box<Ports>,
    places: Places,
    filled: [Filled; 2],
    table: RuleTable,
    steered: BTreeSet<u32>,
    strangers: Filled,
    /// By the number of their interface.
    links: BTreeMap<u32, Vec<FdLink>>,
    /// Programs of other daemons of this build, as they were when one was last asked about.
    others: BTreeSet<u32>,
}

/// Makes the kernel measure the run time of all BPF programs of the machine, while the descriptor is open. Needs
/// `CAP_SYS_ADMIN`.
///
/// # Errors
/// The kernel's error.
pub fn count_time() -> Result<OwnedFd, KernelError> {
    aya::sys::enable_stats(Stats::RunTime).map_err(unattached("the kernel's count of run times"))
}

impl Programs {
    /// Loads everything and fills the maps. Nothing is attached.
    ///
    /// # Errors
    /// A missing feature, the verifier's message, or a table that does not fit.
    pub fn load(table: &RuleTable, mode: PoliceMode) -> Result<Self, KernelError> {
        let mut ebpf = Ebpf::load(OBJECT).map_err(|error| KernelError::Verifier("police", said(&error)))?;
        for name in ["police", "heads"] {
            program::<SchedClassifier>(&mut ebpf, name)?.load().map_err(verifier(name))?;
        }
        program::<Xdp>(&mut ebpf, "flood")?.load().map_err(verifier("flood"))?;
        program::<SkLookup>(&mut ebpf, "classify")?.load().map_err(verifier("classify"))?;
        let maps = Maps::of(&mut ebpf)?;
        let ports = vec![[0; 65_536]; 2].into_boxed_slice();
        let ports = ports.try_into().map_err(|_| KernelError::Map("ports", "no room".to_owned()))?;
        let mut programs = Self {
            ebpf,
            maps,
            control: Control { slot: 1, mode: mode as u32, ..Control::default() },
            ports,
            places: Places::default(),
            filled: Default::default(),
            table: RuleTable::default(),
            steered: BTreeSet::new(),
            strangers: Filled::default(),
            links: BTreeMap::new(),
            others: BTreeSet::new(),
        };
        programs.swap(table)?;
        Ok(programs)
    }

    /// Sets the sockets of each class, replacing all former ones. The first of a class gets the connections; the
    /// lengths of all its queues are added.
    ///
    /// # Errors
    /// Too many sockets of a class, or the kernel's error for one.
    pub fn steer(&mut self, sockets: &[ServerListener<'_>]) -> Result<(), KernelError> {
        let mut places = BTreeSet::new();
        for listener in sockets {
            let begin = u32::from(listener.class) * SOCKETS as u32;
            let free = (begin..begin + SOCKETS as u32).find(|place| !places.contains(place));
            let place = free.ok_or_else(|| self.many_sockets(listener.class))?;
            let map = &mut self.maps.listeners;
            map.set(place, &listener.socket.as_raw_fd(), 0).map_err(failed("listeners"))?;
            places.insert(place);
        }
        for gone in self.steered.difference(&places) {
            // The kernel has removed those that were closed.
            let _gone = self.maps.listeners.clear_index(gone);
        }
        let most = places.iter().map(|place| place % SOCKETS as u32 + 1).max();
        self.control.sockets = most.unwrap_or(0);
        self.steered = places;
        self.maps.set_control(&self.control)
    }

    fn many_sockets(&self, class: u8) -> KernelError {
        let name = self.table.classes.get(usize::from(class)).map(|class| class.name.clone());
        KernelError::ManySockets(name.unwrap_or_default(), SOCKETS)
    }

    /// Decides nothing about what comes to listeners of other programs. Of equal addresses the last counts.
    ///
    /// # Errors
    /// The kernel's error for a map.
    pub fn leave_out(&mut self, listeners: &[ListenerAddress]) -> Result<(), KernelError> {
        self.maps.empty(std::mem::take(&mut self.strangers));
        self.control.strangers = listeners.iter().any(|(_, _, strange)| *strange);
        let listeners = listeners.iter().filter(|_| self.control.strangers);
        listeners
            .into_iter()
            .try_for_each(|listener| self.maps.put_listener(*listener, &mut self.strangers))?;
        self.maps.set_control(&self.control)
    }

    /// Steers new connections to the sockets of their class, in a network namespace (`/proc/self/ns/net`); returns
    /// whether they were not before.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn attach_classes(&mut self, namespace: impl AsFd) -> Result<bool, KernelError> {
        let there = attached(Hook::Lookup(namespace.as_fd())).unwrap_or_default();
        if there.contains(&self.id("classify")?) {
            return Ok(false);
        }
        let attached = program::<SkLookup>(&mut self.ebpf, "classify")?.attach(namespace);
        attached.map(|_| true).map_err(unattached("the network namespace"))
    }

    /// Decides the packets that come in through an interface of the calling thread's network namespace: both stages,
    /// by tcx, before all programs of others: one of theirs may let a packet pass that ours then never sees.
    ///
    /// # Errors
    /// The interface does not exist, or the kernel's error.
    pub fn attach(&mut self, interface: &str) -> Result<(), KernelError> {
        self.link(interface, "police", Vec::new())
    }

    /// As [`Self::attach`], and SYNs whose rule drops them are also refused in the driver, by native XDP.
    ///
    /// # Errors
    /// As there, or the driver has no native XDP: nothing is attached then.
    pub fn attach_xdp(&mut self, interface: &str) -> Result<(), KernelError> {
        self.detach(number_of(interface)?);
        let xdp = program::<Xdp>(&mut self.ebpf, "flood")?;
        let link = xdp.attach(interface, XdpMode::Driver).and_then(|link| xdp.take_link(link));
        let link = link.map_err(|why| KernelError::NoXdp(interface.to_owned(), said(&why)))?;
        self.link(interface, "heads", vec![link.try_into().map_err(unattached(interface))?])
    }

    fn link(
        &mut self,
        interface: &str,
        name: &'static str,
        mut links: Vec<FdLink>,
    ) -> Result<(), KernelError> {
        let number = number_of(interface)?;
        // A program cannot be attached twice.
        self.detach(number);
        let stage = program::<SchedClassifier>(&mut self.ebpf, name)?;
        let first = TcAttachOptions::TcxOrder(LinkOrder::first());
        let link = stage.attach_with_options(interface, TcAttachType::Ingress, first);
        let link = link.and_then(|link| stage.take_link(link)).map_err(unattached(interface))?;
        links.push(link.try_into().map_err(unattached(interface))?);
        self.links.insert(number, links);
        Ok(())
    }

    /// Detaches from an interface, by its number, also one that is in another network by now.
    pub fn detach(&mut self, interface: u32) {
        self.links.remove(&interface);
    }

    /// Whether no packet that comes in through an interface is seen by a stranger's program first; `driver` is the number
    /// of the one in its driver. Programs of other daemons of this build pass on what is not theirs: were each of them to
    /// be the first, they would take turns, and between two of them packets would pass.
    ///
    /// # Errors
    /// A program is not loaded.
    pub fn is_first(&mut self, interface: u32, driver: Option<u32>) -> Result<bool, KernelError> {
        let links = self.links.get(&interface).map_or(0, Vec::len);
        let there = attached(Hook::Ingress(interface)).unwrap_or_default();
        Ok(match links {
            0 => false,
            1 => self.leads("police", &there)?,
            _ => self.leads("heads", &there)? && driver == Some(self.id("flood")?),
        })
    }

    /// Whether our program is there, behind none but police's.
    fn leads(&mut self, name: &'static str, there: &[u32]) -> Result<bool, KernelError> {
        let own = self.id(name)?;
        let Some(at) = there.iter().position(|id| *id == own) else { return Ok(false) };
        let before = there.get(..at).unwrap_or_default();
        if before.iter().any(|id| !self.others.contains(id)) {
            let tag = |name| Some(format!("{:016x}", self.program(name).ok()?.info().ok()?.tag()));
            let own = ["police", "heads"].map(tag);
            let police = held().into_iter().filter(|(_, tag)| own.iter().flatten().any(|own| own == tag));
            self.others = police.map(|(id, _)| id).collect();
        }
        Ok(before.iter().all(|id| self.others.contains(id)))
    }

    fn id(&self, name: &'static str) -> Result<u32, KernelError> {
        Ok(self.program(name)?.info().map_err(unattached(name))?.id())
    }

    /// A loaded program.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn program(&self, name: &'static str) -> Result<&Program, KernelError> {
        self.ebpf.program(name).ok_or_else(|| not_there(name))
    }

    /// Puts another table in force: each packet is decided by the old one or by the new one. Counters stay with the
    /// name of their rule, buckets with name and rates. Where classes have changed, [`Self::steer`] follows.
    ///
    /// # Errors
    /// A table that does not fit, or the kernel's error for a map: the old table stays in force then.
    pub fn swap(&mut self, table: &RuleTable) -> Result<(), KernelError> {
        let slot = 1 - self.control.slot;
        let places = self.places.next(&table.rules);
        self.maps.empty(std::mem::take(&mut self.filled[slot]));
        if let Err(why) = self.fill(table, slot, &places) {
            self.maps.empty(std::mem::take(&mut self.filled[slot]));
            return Err(why);
        }
        // A packet that comes between sees no slot without its side.
        self.maps.set_control(&self.control)?;
        self.control.slot = slot;
        if let Err(why) = self.maps.set_control(&self.control) {
            self.control.slot = 1 - slot;
            return Err(why);
        }
        (self.table, self.places) = (table.clone(), places);
        // If it is unknown whether packets are still decided by the old table, that stays until the next swap.
        if bakeoff_sys::bpf::wait_for_programs().is_ok() {
            self.maps.empty(std::mem::take(&mut self.filled[1 - slot]));
        }
        self.maps.renew(&self.places);
        Ok(())
    }

    fn fill(&mut self, table: &RuleTable, slot: usize, places: &Places) -> Result<(), KernelError> {
        self.control.sides[slot] = self.maps.fill(table, slot, places, &mut self.filled[slot])?;
        let ports = &mut self.ports[slot];
        ports.fill(0);
        table.ports.iter().for_each(|port| ports[usize::from(*port)] = 1);
        table.classes.iter().for_each(|class| ports[usize::from(class.port)] = 2);
        self.maps.set_ports(&self.ports)
    }

    /// Sets the mode, from the next packet on.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_mode(&mut self, mode: PoliceMode) -> Result<(), KernelError> {
        self.control.mode = mode as u32;
        self.maps.set_control(&self.control)
    }

    /// Bound of each class on the connections in its queue and those above it when a new one comes; 0 and `u32::MAX`:
    /// no bound.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_bounds(&mut self, bounds: &[u32]) -> Result<(), KernelError> {
        let bound = |class: usize| bounds.get(class).copied().filter(|bound| *bound < u32::MAX).unwrap_or(0);
        self.control.bounds = std::array::from_fn(bound);
        self.maps.set_control(&self.control)
    }

    /// Sets a time for deciding buckets, in ns, in place of the kernel's `CLOCK_MONOTONIC`; for tests.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_clock(&mut self, now_ns: Option<u64>) -> Result<(), KernelError> {
        self.control.clock_ns = now_ns.unwrap_or(0);
        self.maps.set_control(&self.control)
    }

    /// Decides segments as if each were of a connection whose server's kernel waits for this sequence number, or of
    /// none; for trials, whose packets are of no connection.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn set_standing(&mut self, next: Option<u32>) -> Result<(), KernelError> {
        (self.control.stands, self.control.next) = next.map_or((2, 0), |next| (1, next));
        self.maps.set_control(&self.control)
    }

    /// The counters.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn counters(&self) -> Result<KernelCounters, KernelError> {
        let mut counters = self.totals()?;
        for rule in &self.table.rules {
            let Some(place) = self.places.of(&rule.name) else { continue };
            let [passed, refused] = self.maps.tally(place.entry)?;
            counters.rules.push(RuleCount { name: rule.name.clone(), passed, refused });
        }
        Ok(counters)
    }

    /// The same without rules: its time does not depend on their number.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn totals(&self) -> Result<KernelCounters, KernelError> {
        let mut counters = KernelCounters::default();
        let KernelCounters {
            packets, heads, odd, bodies, would_refuse, urgent, let_in, unread, refused, ..
        } = &mut counters;
        let single: [_; EVENTS] = [packets, heads, odd, bodies, would_refuse, urgent, let_in];
        let all = single.into_iter().chain(unread).chain(refused);
        for (event, count) in all.enumerate() {
            *count = self.maps.event(event)?;
        }
        Ok(counters)
    }

    /// Runs of all programs, counted by the kernel while [`count_time`]'s descriptor was open.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn runs(&self) -> Result<Runs, KernelError> {
        let mut runs = Runs::default();
        for (_, program) in self.ebpf.programs() {
            let info = program.info().map_err(unattached("a program"))?;
            runs.runs += info.run_count();
            runs.run_ns += info.run_time().as_nanos() as u64;
        }
        Ok(runs)
    }
}

fn number_of(interface: &str) -> Result<u32, KernelError> {
    if_nametoindex(interface).map_err(|errno| match errno {
        Errno::ENODEV => KernelError::NoInterface(interface.to_owned()),
        other => unattached(interface)(other),
    })
}

fn program<'e, P>(ebpf: &'e mut Ebpf, name: &'static str) -> Result<&'e mut P, KernelError>
where
    &'e mut P: TryFrom<&'e mut Program>,
{
    let program = ebpf.program_mut(name).and_then(|program| program.try_into().ok());
    program.ok_or_else(|| not_there(name))
}

fn not_there(program: &'static str) -> KernelError {
    KernelError::Verifier(program, "not in the object".to_owned())
}

/// The verifier's last message, before its statistics.
fn verifier(program: &'static str) -> impl Fn(ProgramError) -> KernelError {
    move |error| match &error {
        ProgramError::LoadError { io_error, .. } if io_error.raw_os_error() == Some(libc::EPERM) => {
            MissingFeature::Privilege.into()
        }
        ProgramError::LoadError { io_error, verifier_log } => {
            let log = verifier_log.to_string();
            let counts = ["processed ", "verification time", "stack depth"];
            let said =
                |line: &&str| !line.trim().is_empty() && !counts.iter().any(|count| line.starts_with(count));
            let last = log.lines().rev().find(said).unwrap_or_default();
            KernelError::Verifier(program, format!("{} ({io_error})", last.trim()))
        }
        other => KernelError::Verifier(program, said(other)),
    }
}

fn unattached<E: std::error::Error>(place: &str) -> impl Fn(E) -> KernelError {
    let place = place.to_owned();
    move |why| KernelError::Attach(place.clone(), said(&why))
}
