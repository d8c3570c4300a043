//! Link of a run: made before the servers, read at quiet points. Without a link nothing here does anything, and servers
//! listen on loopback.

use super::{RunError, RunProgress};
use bakeoff_link::{DelayBy, Delays, Link, LinkReading, LinkSpec, Making};
use bakeoff_loadgen::LocalAddresses;
use bakeoff_meter::LinkCounts;
use bakeoff_plan::{Arm, Plan};
use bakeoff_results::{LinkSetup, OneWay};
use bakeoff_subject::Network;
use bakeoff_sys::namespace::Namespace;
use bakeoff_units::Nanos;
use std::net::{IpAddr, Ipv4Addr};
use std::ops::RangeInclusive;

/// The network between generator and subjects.
#[derive(Debug)]
pub(crate) struct Wire {
    link: Option<Link>,
}

impl Wire {
    pub(crate) fn make(plan: &Plan, progress: &mut dyn RunProgress) -> Result<Self, RunError> {
        let Some(asked) = plan.link else { return Ok(Self { link: None }) };
        progress.stage("making the link");
        let executable = bakeoff_sys::process::own_executable().map_err(RunError::System)?;
        let spec = LinkSpec { rate: asked.rate, delay: asked.delay, loss: asked.loss };
        let how = Making { executable: &executable, seed: plan.seed, delay_by: DelayBy::Best };
        let link = Link::make(spec, how)?;
        link.have_sources(&sources(plan))?;
        Ok(Self { link: Some(link) })
    }

    /// The network subjects are started in; none: bakeoff's own.
    pub(crate) fn of_subjects(&self) -> Option<Network> {
        let link = self.link.as_ref()?;
        Some(Network { namespace: link.subject().clone(), address: link.subject_address() })
    }

    /// The network connections to them are made from; none: bakeoff's own.
    pub(crate) fn of_generator(&self) -> Option<Namespace> {
        self.link.as_ref().map(|link| link.generator().clone())
    }

    /// Waits until no packet can be on its way any more and reads the counters. To be called before the servers' own
    /// are read: packets that arrive late are work for them.
    pub(crate) fn quiet(&mut self) -> Result<Option<LinkReading>, RunError> {
        let Some(link) = &mut self.link else { return Ok(None) };
        // The last packet of either side, and the answer to it.
        std::thread::sleep(link.spec().delay.times(2.0).as_duration());
        Ok(Some(link.read()?))
    }

    /// Traffic between two quiet points around a slice that took `wall_ns`.
    pub(crate) fn between(
        &self,
        before: Option<LinkReading>,
        after: Option<LinkReading>,
        wall_ns: u64,
    ) -> Option<LinkCounts> {
        let passed = after?.since(&before?, self.link.as_ref()?.spec().rate, Nanos::new(wall_ns));
        Some(LinkCounts {
            busy: passed.busy,
            packets: passed.packets,
            lost: passed.lost,
            overflowed: passed.overflowed,
            delays: passed.emulator.as_ref().map(|emulator| emulator.delays.encode()),
            line_cpu_ns: passed.emulator.as_ref().map(|emulator| emulator.cpu.get()),
        })
    }

    /// For `setup.json`.
    pub(crate) fn setup(&self) -> Option<LinkSetup> {
        let link = self.link.as_ref()?;
        let (spec, got) = (link.spec(), link.got());
        Some(LinkSetup {
            rate_bps: spec.rate.get(),
            carried_bps: got.carried.get(),
            delay_ns: spec.delay.get(),
            probes: one_way(got.delays),
            loss: spec.loss.get(),
            mechanism: link.mechanism().label().to_owned(),
        })
    }
}

/// Addresses that connections come from, besides the link's own.
fn sources(plan: &Plan) -> Vec<RangeInclusive<Ipv4Addr>> {
    let ends = plan.arms.iter().flat_map(Arm::sources).flat_map(LocalAddresses::ends);
    let range = |ends| match ends {
        (IpAddr::V4(first), IpAddr::V4(last)) => Some(first..=last),
        _ => None,
    };
    ends.filter_map(range).collect()
}

fn one_way(delays: Delays) -> OneWay {
    OneWay {
        min_ns: delays.min.get(),
        median_ns: delays.median.get(),
        p99_ns: delays.p99.get(),
        max_ns: delays.max.get(),
        count: delays.count,
    }
}
