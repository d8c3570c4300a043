//! Which interfaces are looked at: those that were named, or all that can be; and what became of them.
//!
//! Measured side, cold. In the network of the calling thread.

use super::DaemonError;
use crate::kernel::{KernelError, Programs};
use bakeoff_sys::netlink::{self, half, word};
use nix::sys::socket::SockProtocol;
use std::collections::BTreeMap;
use std::ffi::CStr;

/// The question `RTM_GETLINK`, and a `struct ifinfomsg` before attributes in question and answers: how long, where the number is.
const GET_LINK: u16 = 18;
const ABOUT_BYTES: usize = 16;
const NUMBER: usize = 4;
/// Attributes: `IFLA_IFNAME`, `IFLA_MASTER`.
const NAME: u16 = 3;
const MASTER: u16 = 10;

/// Interfaces with our programs, and those without that should have them.
#[derive(Debug)]
pub(super) struct Interfaces {
    /// Those that were named; empty: all.
    named: Vec<String>,
    xdp: bool,
    /// By name: its number.
    attached: BTreeMap<String, u32>,
    /// Not of a kind that can be looked at, or refused by the kernel: not tried again as long as they are there.
    left_out: BTreeMap<String, u32>,
}

impl Interfaces {
    /// Attaches to all that were named, or to all that can be.
    pub(super) fn attach(named: &[String], xdp: bool, programs: &mut Programs) -> Result<Self, DaemonError> {
        let (attached, left_out) = (BTreeMap::new(), BTreeMap::new());
        let mut own = Self { named: named.to_vec(), xdp, attached, left_out };
        let there = there()?;
        if let Some(missing) = named.iter().find(|name| !there.contains_key(*name)) {
            return Err(KernelError::NoInterface(missing.clone()).into());
        }
        for (name, number) in own.wanted(&there) {
            match own.one(&name, programs) {
                Ok(()) => own.attached.insert(name, number),
                Err(KernelError::NotEthernet(_)) if named.is_empty() => own.left_out.insert(name, number),
                Err(error) => return Err(error.into()),
            };
        }
        if own.attached.is_empty() { Err(DaemonError::NoInterface) } else { Ok(own) }
    }

    /// Attaches to those that have come, or come back, since the last look; sentences about what happened.
    pub(super) fn look(&mut self, programs: &mut Programs) -> Vec<String> {
        let Ok(there) = there() else { return Vec::new() };
        let mut said = Vec::new();
        let is_there =
            |name: &String, number: &u32| there.get(name).is_some_and(|there| there.number == *number);
        self.left_out.retain(|name, number| is_there(name, number));
        for (name, _) in self.attached.extract_if(.., |name, number| !is_there(name, number)) {
            said.push(format!("the interface {name} is gone: nothing comes in through it any more"));
        }
        for (name, number) in self.wanted(&there) {
            if self.attached.contains_key(&name) || self.left_out.contains_key(&name) {
                continue;
            }
            match self.one(&name, programs) {
                Ok(()) => {
                    said.push(format!("the interface {name} is there, and is looked at from now on"));
                    self.attached.insert(name, number);
                }
                Err(error) => {
                    if !matches!(error, KernelError::NotEthernet(_)) {
                        said.push(error.to_string());
                    }
                    self.left_out.insert(name, number);
                }
            }
        }
        said
    }

    /// With our programs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.attached.keys().map(String::as_str)
    }

    /// There, or named and not there, and without.
    pub(super) fn missing(&self) -> Vec<&str> {
        let named = self.named.iter().filter(|name| !self.attached.contains_key(*name));
        let others = self.left_out.keys().filter(|name| !self.named.contains(name));
        named.chain(others).map(String::as_str).collect()
    }

    fn one(&self, name: &str, programs: &mut Programs) -> Result<(), KernelError> {
        // Loopback's packets never were in a driver.
        if self.xdp && name != "lo" { programs.attach_xdp(name) } else { programs.attach(name) }
    }

    fn wanted(&self, there: &BTreeMap<String, There>) -> Vec<(String, u32)> {
        let is_wanted = |(name, there): &(&String, &There)| match self.named.as_slice() {
            [] => !there.has_master,
            named => named.contains(name),
        };
        let wanted = there.iter().filter(is_wanted);
        wanted.map(|(name, there)| (name.clone(), there.number)).collect()
    }
}

/// An interface that there is.
struct There {
    number: u32,
    /// Part of a bridge or bond: what comes in through it comes in through that a second time.
    has_master: bool,
}

/// All interfaces, by name. Not from /sys, which is that of the network in which it was mounted.
fn there() -> Result<BTreeMap<String, There>, DaemonError> {
    let mut found = BTreeMap::new();
    let read = |answer: &[u8]| found.extend(parse(answer));
    let asked = netlink::list(SockProtocol::NetlinkRoute, GET_LINK, &[0; ABOUT_BYTES], read);
    asked.map_err(DaemonError::system("interfaces"))?;
    Ok(found)
}

fn parse(answer: &[u8]) -> Option<(String, There)> {
    let (mut name, mut has_master) = (None, false);
    let mut rest = answer.get(ABOUT_BYTES..)?;
    while let (Some(length), Some(kind)) = (half(rest, 0), half(rest, 2)) {
        // Its own head is four bytes of it.
        let length = usize::from(length).max(4);
        match kind {
            NAME => name = CStr::from_bytes_until_nul(rest.get(4..length)?).ok(),
            MASTER => has_master = true,
            _ => {}
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let name = name?.to_string_lossy().into_owned();
    Some((name, There { number: word(answer, NUMBER)?, has_master }))
}
