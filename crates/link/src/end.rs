//! One end of a link: a namespace with a device in it, its addresses, its shaping, its counters.

use crate::LinkError;
use crate::counters::{self, Discipline};
use crate::reading::LinkTraffic;
use crate::settings;
use crate::shape::{FRAME, Shape};
use crate::tool::{ip, tc};
use bakeoff_sys::namespace::Namespace;
use bakeoff_units::{BitsPerSecond, Clock, MonotonicClock, Nanos};
use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

/// One end.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) namespace: Namespace,
    pub(crate) address: Ipv4Addr,
}

/// The device's name, in both namespaces.
pub(crate) const DEVICE: &str = "bakeoff0";
/// Addresses of the range for benchmarks (RFC 2544, RFC 6890), which is never routed.
pub(crate) const GENERATOR: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
pub(crate) const SUBJECT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);
/// Locally administered. The neighbours are entered by hand: there is no address resolution over a link that may lose
/// the question.
pub(crate) const GENERATOR_MAC: &str = "02:ba:6e:0f:f0:01";
pub(crate) const SUBJECT_MAC: &str = "02:ba:6e:0f:f0:02";
/// The packets of a check are gone after this long at any rate that can be used.
const DRAINING: Nanos = Nanos::from_secs(30);

impl End {
    pub(crate) fn new(address: Ipv4Addr) -> Result<Self, LinkError> {
        let namespace = Namespace::create().map_err(LinkError::Namespace)?;
        settings::carry_over(&namespace)?;
        Ok(Self { namespace, address })
    }

    /// Calls a function with sockets inside.
    pub(crate) fn inside<T: Send>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> Result<T, LinkError> {
        self.namespace.run(work).map_err(LinkError::Namespace)?.map_err(LinkError::Dead)
    }

    pub(crate) fn configure(
        &self,
        mac: &str,
        (neighbour, its_mac): (Ipv4Addr, &str),
        rate: BitsPerSecond,
        shape: Shape,
    ) -> Result<(), LinkError> {
        let inside = &self.namespace;
        let packet = shape.packet.get();
        ip(inside, &format!("link set dev {DEVICE} address {mac} addrgenmode none"))?;
        ip(inside, &format!("link set dev {DEVICE} gso_max_size {packet} up"))?;
        ip(inside, &format!("address add {}/30 dev {DEVICE}", self.address))?;
        ip(inside, &format!("neighbour add {neighbour} lladdr {its_mac} dev {DEVICE} nud permanent"))?;
        let (rate, burst, queue) = (rate.get(), shape.burst.get(), shape.queue.get());
        let words =
            format!("qdisc add dev {DEVICE} root handle 1: tbf rate {rate}bit burst {burst} limit {queue}");
        tc(inside, &words)
    }

    /// Waits until the queue in front of the link is empty.
    pub(crate) fn drain(&self) -> Result<(), LinkError> {
        let clock = MonotonicClock::new();
        while counters::read(&self.namespace)?.iter().any(|discipline| discipline.waiting > 0)
            && clock.now() < DRAINING
        {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    pub(crate) fn traffic(&self) -> Result<LinkTraffic, LinkError> {
        let mut traffic = LinkTraffic::default();
        for Discipline { kind, bytes, packets, drops, .. } in counters::read(&self.namespace)? {
            match kind.as_str() {
                "tbf" => (traffic.bytes, traffic.packets, traffic.overflowed) = (bytes, packets, drops),
                "netem" => traffic.lost = drops,
                _ => {}
            }
        }
        // Packets that netem loses, tbf counts as thrown away, too.
        traffic.overflowed = traffic.overflowed.saturating_sub(traffic.lost);
        Ok(traffic)
    }
}

/// A frame is what the device may send, and its Ethernet header.
const _: () = assert!(FRAME.get() == 1500 + 14);
