//! Link maker: makes a link, measures it, reads its counters.

use crate::LinkError;
use crate::check::{self, Delays};
use crate::emulator::{Emulator, Way};
use crate::end::{DEVICE, End, GENERATOR, GENERATOR_MAC, SUBJECT, SUBJECT_MAC};
use crate::reading::LinkReading;
use crate::shape::{Shape, packets_on_their_way};
use crate::spec::{DelayBy, LinkSpec, Making};
use crate::tool::{ip, tc};
use bakeoff_sys::namespace::Namespace;
use bakeoff_units::{BitsPerSecond, Nanos};
use std::net::Ipv4Addr;
use std::thread;
use std::time::Duration;

/// The mechanism that shapes a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The kernel's tbf on a pair of veth devices.
    Tbf,
    /// tbf, and in it the kernel's netem for delay and loss.
    TbfAndNetem,
    /// tbf on a pair of TAP devices, and a process that moves frames between them.
    TbfAndEmulator {
        /// The process goes before ordinary ones, so that it is not late.
        goes_first: bool,
    },
}

impl Mechanism {
    /// As reports print it.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tbf => "tbf on veth",
            Self::TbfAndNetem => "tbf and netem on veth",
            Self::TbfAndEmulator { goes_first: true } => "tbf on TAP and a user-space emulator (SCHED_FIFO)",
            Self::TbfAndEmulator { goes_first: false } => "tbf on TAP and a user-space emulator",
        }
    }
}

/// Properties of a link, measured before it was used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Got {
    /// TCP payload of one connection, the slower direction, before delay and loss were set.
    pub carried: BitsPerSecond,
    /// Of single packets towards the subject.
    pub delays: Delays,
}

/// A link and the two networks at its ends. Dropping it takes everything away once no process is inside any more.
#[derive(Debug)]
pub struct Link {
    spec: LinkSpec,
    generator: End,
    subject: End,
    mechanism: Mechanism,
    emulator: Option<Emulator>,
    got: Got,
}

/// Tolerance of the rate.
const TOLERANCE: f64 = 0.10;
/// Number of chances that a busy machine gets to show that it can.
const ATTEMPTS: u32 = 6;
/// Pause before the second; before each further one it is this much longer, so that a load that lasts for a second or
/// two does not take all the chances.
const PAUSE: Duration = Duration::from_millis(150);
/// Tolerance of the median delay, beside the other: two wake-ups on a busy machine.
const WAKING: Nanos = Nanos::from_millis(2);

impl Link {
    /// Makes a link and measures it: about two seconds, longer at low rates.
    ///
    /// # Errors
    ///
    /// No privilege, no such kernel, no iproute2, or a link that differs from its specification: each says what to do.
    pub fn make(spec: LinkSpec, how: Making<'_>) -> Result<Self, LinkError> {
        let ends = (End::new(GENERATOR)?, End::new(SUBJECT)?);
        let (mechanism, emulator) = connect(&spec, how, &ends)?;
        let (generator, subject) = ends;
        let whole = spec.loss.get() == 0.0;
        let shape = Shape::of(spec.rate, whole);
        generator.configure(GENERATOR_MAC, (SUBJECT, SUBJECT_MAC), spec.rate, shape)?;
        subject.configure(SUBJECT_MAC, (GENERATOR, GENERATOR_MAC), spec.rate, shape)?;
        let carried = carried(&generator, &subject, spec.rate)?;
        let got = Got { carried, delays: Delays::default() };
        let mut link = Self { spec, generator, subject, mechanism, emulator, got };
        link.hinder(how.seed)?;
        link.got.delays = link.delays()?;
        Ok(link)
    }

    /// The specification.
    pub const fn spec(&self) -> &LinkSpec {
        &self.spec
    }

    /// The mechanism that shapes it.
    pub const fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The measured properties.
    pub const fn got(&self) -> &Got {
        &self.got
    }

    /// The namespace for programs that send requests.
    pub const fn generator(&self) -> &Namespace {
        &self.generator.namespace
    }

    /// The namespace for servers.
    pub const fn subject(&self) -> &Namespace {
        &self.subject.namespace
    }

    /// The address that servers listen on.
    pub const fn subject_address(&self) -> Ipv4Addr {
        self.subject.address
    }

    /// The process that delays frames, if one does.
    pub fn emulator_process(&self) -> Option<u32> {
        self.emulator.as_ref().map(Emulator::pid)
    }

    /// All counters. A few system calls; call it at quiet points.
    ///
    /// # Errors
    /// The emulator process has died, or the kernel refuses.
    pub fn read(&mut self) -> Result<LinkReading, LinkError> {
        Ok(LinkReading {
            to_subject: self.generator.traffic()?,
            to_generator: self.subject.traffic()?,
            emulator: self.emulator.as_mut().map(Emulator::record).transpose()?,
        })
    }

    /// Sets delay and loss.
    fn hinder(&mut self, seed: u64) -> Result<(), LinkError> {
        let LinkSpec { rate, delay, loss } = self.spec;
        if let Some(emulator) = &mut self.emulator {
            return emulator.hinder(Way { delay_ns: delay.get(), loss: loss.get(), seed });
        }
        if self.mechanism == Mechanism::TbfAndNetem {
            let micros = delay.get() as f64 / 1e3;
            let (share, limit) = (loss.get() * 100.0, packets_on_their_way(rate, delay));
            let words = format!(
                "qdisc add dev {DEVICE} parent 1:1 handle 10: netem limit {limit} delay {micros}us loss {share}%"
            );
            tc(&self.generator.namespace, &words)?;
            tc(&self.subject.namespace, &words)?;
        }
        Ok(())
    }

    fn delays(&self) -> Result<Delays, LinkError> {
        let asked = self.spec.delay;
        self.generator.drain()?;
        let most = asked.times(1.0 + TOLERANCE) + WAKING;
        let mut got = Delays::default();
        for attempt in 0..ATTEMPTS {
            thread::sleep(PAUSE * attempt);
            got = check::one_way(&self.generator, &self.subject, asked)?;
            if (asked.times(1.0 - TOLERANCE)..=most).contains(&got.median) {
                return Ok(got);
            }
        }
        Err(LinkError::Delay { asked, got: got.median })
    }
}

/// Makes the two devices and the connection between them.
fn connect(
    spec: &LinkSpec,
    how: Making<'_>,
    (generator, subject): &(End, End),
) -> Result<(Mechanism, Option<Emulator>), LinkError> {
    let hindered = spec.delay > Nanos::ZERO || spec.loss.get() > 0.0;
    let netem = match how.delay_by {
        _ if !hindered => Ok(()),
        DelayBy::Best => try_netem(&generator.namespace).map_err(|why| why.to_string()),
        DelayBy::Emulator => Err("not tried".to_owned()),
    };
    if let Err(netem) = netem {
        let started = Emulator::start(how.executable, &generator.namespace, &subject.namespace, DEVICE);
        let (emulator, goes_first) =
            started.map_err(|error| LinkError::NoDelay { netem, emulator: error.to_string() })?;
        return Ok((Mechanism::TbfAndEmulator { goes_first }, Some(emulator)));
    }
    let there = subject.namespace.path();
    let words = format!("link add {DEVICE} type veth peer name {DEVICE} netns {}", there.display());
    ip(&generator.namespace, &words)?;
    Ok((if hindered { Mechanism::TbfAndNetem } else { Mechanism::Tbf }, None))
}

/// Tried on a loopback device that is not in use yet.
fn try_netem(inside: &Namespace) -> Result<(), LinkError> {
    tc(inside, "qdisc add dev lo root netem delay 1ms")?;
    tc(inside, "qdisc delete dev lo root")
}

/// The slower direction's rate, if both are near enough to the specification.
fn carried(generator: &End, subject: &End, asked: BitsPerSecond) -> Result<BitsPerSecond, LinkError> {
    let ways = [(subject, generator, "to the generator"), (generator, subject, "to the subject")];
    let mut slower = None;
    for (from, to, way) in ways {
        let mut best = check::carried(from, to, asked)?;
        for attempt in 1..ATTEMPTS {
            if !near(best, asked) {
                thread::sleep(PAUSE * attempt);
                best = nearer(best, check::carried(from, to, asked)?, asked);
            }
        }
        if !near(best, asked) {
            return Err(LinkError::Rate { asked, got: best, way });
        }
        slower = Some(slower.map_or(best, |other: BitsPerSecond| other.min(best)));
    }
    Ok(slower.unwrap_or(asked))
}

/// A receiver that had to wait for its core sees too much at once, or too little for a while.
fn nearer(one: BitsPerSecond, other: BitsPerSecond, asked: BitsPerSecond) -> BitsPerSecond {
    let off = |got: BitsPerSecond| got.get().abs_diff(asked.get());
    if off(other) < off(one) { other } else { one }
}

/// Headers take `1 - 1448/1514` of the rate, 4.4 %; that is within the tolerance.
fn near(got: BitsPerSecond, asked: BitsPerSecond) -> bool {
    (got.get() as f64 / asked.get() as f64 - 1.0).abs() <= TOLERANCE
}
