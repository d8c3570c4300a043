//! Interfaces with our programs: those that were named, or all suitable ones; and which of them lack the programs.
//!
//! Measured side, cold. In the network of the calling thread.

use super::DaemonError;
use crate::kernel::{KernelError, Programs};
use bakeoff_sys::netlink::{self, half, word};
use nix::sys::socket::SockProtocol;
use std::collections::BTreeMap;
use std::ffi::CStr;

/// The question `RTM_GETLINK`; length of the `struct ifinfomsg` before attributes in question and answers, and offset
/// of the number.
const GET_LINK: u16 = 18;
const ABOUT_BYTES: usize = 16;
const NUMBER: usize = 4;
/// Attributes: `IFLA_IFNAME`, `IFLA_MASTER`.
const NAME: u16 = 3;
const MASTER: u16 = 10;

/// Interfaces with our programs, and those that should have them.
#[derive(Debug)]
pub(super) struct Interfaces {
    /// Named interfaces; empty means all.
    named: Vec<String>,
    xdp: bool,
    /// Number of each interface, by name.
    attached: BTreeMap<String, u32>,
    /// Unsuitable ones, or refused by the kernel: not tried again as long as they exist.
    left_out: BTreeMap<String, u32>,
}

impl Interfaces {
    /// Attaches to all named interfaces, or to all suitable ones.
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

    /// Attaches to interfaces that came, or came back, since the last look; returns sentences about it.
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

    /// Interfaces with our programs.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.attached.keys().map(String::as_str)
    }

    /// Interfaces without our programs, existing or only named.
    pub(super) fn missing(&self) -> Vec<&str> {
        let named = self.named.iter().filter(|name| !self.attached.contains_key(*name));
        let others = self.left_out.keys().filter(|name| !self.named.contains(name));
        named.chain(others).map(String::as_str).collect()
    }

    fn one(&self, name: &str, programs: &mut Programs) -> Result<(), KernelError> {
        // Loopback's packets never pass a driver.
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

/// An existing interface.
struct There {
    number: u32,
    /// Whether it is part of a bridge or bond: its packets come in through that a second time.
    has_master: bool,
}

/// All interfaces, by name. Not from /sys, which shows the network in which it was mounted.
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
