//! Main loop of the armed daemon: signals, looks, status, end.
//!
//! Measured side, cold. One thread, which sleeps in `poll`.

use super::arrivals::Arrivals;
use super::interfaces::Interfaces;
use super::status::{Gaps, Report};
use super::watch::Watch;
use super::{DaemonError, DaemonSettings};
use crate::agent::{Agent, OPEN, QueueReading};
use crate::kernel::{KernelCounters, PoliceMode, Programs};
use crate::listeners::{Listening, made};
use crate::rules::table::RuleTable;
use bakeoff_layers_base::daemon::status::StatusFile;
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

/// Interval of looks at listeners, some 0.3 ms each.
const LOOK: Duration = Duration::from_millis(100);
/// The same while connections wait and bounds are to be set: the precision with which a server's stalls are seen.
const BUSY_LOOK: Duration = Duration::from_millis(10);
/// Interval of statuses; longer if reading the counters of many rules takes more than one part in [`SHARE`] of it.
const STATUS: Nanos = Nanos::from_millis(100);
const SHARE: u64 = 50;
/// Interval of looks at interfaces.
const INTERFACES: Nanos = Nanos::from_millis(250);

/// Descriptor of the signals, which are blocked from now on.
pub(super) fn signals() -> Result<SignalFd, DaemonError> {
    let wanted: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
    let taken = wanted
        .thread_block()
        .and_then(|()| SignalFd::with_flags(&wanted, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK));
    taken.map_err(|errno| DaemonError::system("signals")(errno.into()))
}

/// Runs until it is asked to end.
pub(super) fn live(
    mut armed: Armed<'_>,
    signals: &SignalFd,
    note: &mut impl FnMut(&str),
) -> Result<(), DaemonError> {
    loop {
        armed.sleep(signals);
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo == Signal::SIGHUP as u32 {
                armed.reload(note);
            } else {
                armed.end(note);
                return Ok(());
            }
        }
        armed.turn(note);
    }
}

/// Everything that lives as long as the daemon. When dropped, nothing stays in the kernel.
pub(super) struct Armed<'s> {
    settings: &'s DaemonSettings,
    table: RuleTable,
    programs: Programs,
    pub(super) watch: Watch,
    interfaces: Interfaces,
    agent: Option<Agent>,
    file: StatusFile,
    /// Makes the kernel measure run times while it is open.
    timer: Option<OwnedFd>,
    clock: MonotonicClock,
    has_classes: bool,
    arrivals: Arrivals,
    queues: Vec<u32>,
    bounds: Vec<u32>,
    reloads: u64,
    reloads_refused: u64,
    /// Next times of status and interfaces.
    status_due: Nanos,
    interfaces_due: Nanos,
}

impl<'s> Armed<'s> {
    pub(super) fn new(
        settings: &'s DaemonSettings,
        table: RuleTable,
        programs: Programs,
        watch: Watch,
        interfaces: Interfaces,
        (file, timer): (StatusFile, Option<OwnedFd>),
    ) -> Self {
        Self {
            agent: agent(&table),
            arrivals: Arrivals::default(),
            has_classes: !table.classes.is_empty(),
            queues: vec![0; table.classes.len()],
            bounds: vec![OPEN; table.classes.len()],
            settings,
            table,
            programs,
            watch,
            interfaces,
            file,
            timer,
            clock: MonotonicClock::new(),
            reloads: 0,
            reloads_refused: 0,
            status_due: Nanos::ZERO,
            interfaces_due: Nanos::ZERO,
        }
    }

    /// Line to print once it is ready.
    pub(super) fn told(&self) -> String {
        let interfaces = self.interfaces.names();
        let (rules, classes) = (self.table.rules.len(), self.table.classes.len());
        let counters = KernelCounters::default();
        let degree = self.report("armed", &counters).degree();
        format!("armed: {rules} rules, {classes} classes, on {}; {degree}", interfaces.join(", "))
    }

    fn sleep(&self, signals: &SignalFd) {
        let waits = self.agent.is_some() && self.queues.iter().any(|queue| *queue > 0);
        let time = if waits { BUSY_LOOK } else { LOOK };
        let mut ready = vec![PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
        ready.extend(self.watch.end().map(|end| PollFd::new(end, PollFlags::POLLIN)));
        // An error counts like a timeout.
        let _ = poll(&mut ready, PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO));
    }

    /// One look at everything.
    pub(super) fn turn(&mut self, note: &mut impl FnMut(&str)) {
        let now = self.clock.now();
        let mut said = Vec::new();
        if let Ok(there) = self.watch.look(&mut self.programs, &mut said) {
            self.bound(now, &there);
        }
        if now >= self.interfaces_due {
            self.interfaces_due = now + INTERFACES;
            said.extend(self.interfaces.look(&mut self.programs));
            let steered = self.has_classes.then(|| attach_classes(&mut self.programs));
            if let Some(Ok(true)) = steered {
                said.push("somebody took the classes off; they are in force again".to_owned());
            }
        }
        said.iter().for_each(|said| note(said));
        if now >= self.status_due || !said.is_empty() {
            // Waiting for a core takes nothing of it.
            let began = cpu_time();
            self.write("armed", note);
            self.status_due = now + pause(Nanos::new(cpu_time().get().saturating_sub(began.get())));
        }
    }

    /// Puts the rules in force. What is set on sockets is written down before.
    pub(super) fn begin(&mut self) -> Result<(), DaemonError> {
        self.try_writing("arming").map_err(DaemonError::deferral)?;
        Ok(self.programs.set_mode(self.settings.mode)?)
    }

    /// Reads the queues, and sets the resulting bounds in the kernel.
    fn bound(&mut self, now: Nanos, there: &[Listening]) {
        self.queues = self.watch.queues(there);
        let Some(agent) = &mut self.agent else { return };
        let (Ok(counters), Ok(made)) = (self.programs.totals(), made()) else { return };
        let arrived = self.arrivals.of(counters.let_in, made);
        let waiting = self.queues.iter().copied().map(u64::from).sum();
        agent.look(QueueReading { now_ns: now.get(), arrived, waiting });
        let bounds = agent.bounds();
        if bounds != self.bounds && self.programs.set_bounds(&bounds).is_ok() {
            self.bounds = bounds;
        }
    }

    /// Loads new rules; with faults the old ones stay.
    fn reload(&mut self, note: &mut impl FnMut(&str)) {
        match self.take_rules() {
            Ok(()) => {
                self.reloads += 1;
                note(&format!("{} rules are in force", self.table.rules.len()));
            }
            Err(error) => {
                self.reloads_refused += 1;
                note(&format!("{error}\nthe old rules stay"));
            }
        }
        self.write("armed", note);
    }

    fn take_rules(&mut self) -> Result<(), DaemonError> {
        let table = self.settings.read_rules()?.table;
        let ready = self.watch.find(&table)?;
        if !table.classes.is_empty() && !self.has_classes {
            attach_classes(&mut self.programs)?;
            self.has_classes = true;
        }
        self.programs.swap(&table)?;
        if let Err(error) = self.watch.take_on(ready, defers(&table, self.settings.mode), &mut self.programs)
        {
            // These were in force a moment ago, so they fit.
            self.programs.swap(&self.table)?;
            let old = self.watch.find(&self.table)?;
            self.watch.take_on(old, defers(&self.table, self.settings.mode), &mut self.programs)?;
            return Err(error);
        }
        if table.overload != self.table.overload || table.classes != self.table.classes {
            self.agent = agent(&table);
            self.queues = vec![0; table.classes.len()];
            self.bounds = vec![OPEN; table.classes.len()];
            self.programs.set_bounds(&self.bounds)?;
        }
        self.table = table;
        Ok(())
    }

    /// Removes everything that it has attached or set; then the status says so.
    fn end(mut self, note: &mut impl FnMut(&str)) {
        if let Err(error) = self.watch.put_back() {
            note(&format!("TCP_DEFER_ACCEPT stays on the server's sockets: {error}"));
        }
        let last = self.text("ended");
        let Self { programs, mut file, .. } = self;
        drop(programs);
        last.into_iter().for_each(|text| drop(file.write(text)));
    }

    fn report<'r>(&'r self, state: &'static str, counters: &'r KernelCounters) -> Report<'r> {
        Report {
            state,
            mode: self.settings.mode,
            table: &self.table,
            server_pid: self.watch.server_pid(),
            interfaces: self.interfaces.names(),
            gaps: Gaps { listeners: &self.watch.gone, interfaces: self.interfaces.missing() },
            counters,
            runs: self.timer.as_ref().and_then(|_| Some((self.programs.runs().ok()?, self.clock.now()))),
            queues: &self.queues,
            bounds: &self.bounds,
            restarts: self.watch.restarts,
            reloads: self.reloads,
            reloads_refused: self.reloads_refused,
            deferrals: self.watch.deferrals.text(),
        }
    }

    fn write(&mut self, state: &'static str, note: &mut impl FnMut(&str)) {
        if let Err(error) = self.try_writing(state) {
            note(&DaemonError::deferral(error).to_string());
        }
    }

    /// Writes the status, and then sets what it names. If it cannot be written, the next one may fit on the disk.
    fn try_writing(&mut self, state: &'static str) -> io::Result<()> {
        match self.text(state).map(|text| self.file.write(text)) {
            Some(Ok(())) => self.watch.defer(),
            _ => Ok(()),
        }
    }

    /// Text of the status. Without counters there is none, and the old one stays: it is worth more than zeros.
    fn text(&self, state: &'static str) -> Option<String> {
        let counters = self.programs.counters().ok()?;
        Some(self.report(state, &counters).text())
    }
}

/// Attaches the classes of connections to the network that this thread is in; false: they are already.
pub(super) fn attach_classes(programs: &mut Programs) -> Result<bool, DaemonError> {
    let network =
        File::open("/proc/thread-self/ns/net").map_err(DaemonError::system("/proc/thread-self/ns/net"))?;
    Ok(programs.attach_classes(network)?)
}

/// Time until the next status, after one that took so much of a core: thousands of rules take some.
fn pause(spent: Nanos) -> Nanos {
    STATUS.max(Nanos::new(spent.get().saturating_mul(SHARE)))
}

/// Whether silent connections are to wait in the kernel: only if requests are refused there.
pub(super) fn defers(table: &RuleTable, mode: PoliceMode) -> bool {
    mode == PoliceMode::Enforce && table.has_requests()
}

fn agent(table: &RuleTable) -> Option<Agent> {
    let overload = table.overload.as_ref().filter(|_| !table.classes.is_empty())?;
    Some(Agent::new(overload.target_ns, &overload.shares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_status_costs_puts_off_the_next_one() {
        assert_eq!(pause(Nanos::ZERO), STATUS);
        assert_eq!(pause(Nanos::from_millis(1)), STATUS);
        assert_eq!(pause(Nanos::from_millis(30)), Nanos::from_millis(1_500));
    }
}
