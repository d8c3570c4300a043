//! Interfaces with our programs: those that were named, or all suitable ones; and which of them lack the programs.
//!
//! Measured side, cold. In the network of the calling thread.

use super::DaemonError;
use crate::kernel::{KernelError, Programs};
use bakeoff_sys::netlink::{self, half, word};
use nix::sys::socket::SockProtocol;
use std::collections::BTreeMap;
use std::ffi::CStr;

/// The question `RTM_GETLINK`; length of the `struct ifinfomsg` before attributes in question and answers, and offsets
/// of the type and the number.
const GET_LINK: u16 = 18;
const ABOUT_BYTES: usize = 16;
const TYPE: usize = 2;
const NUMBER: usize = 4;
/// Types whose packets have an Ethernet head: `ARPHRD_ETHER`, `ARPHRD_LOOPBACK`.
const ETHERNET: [u16; 2] = [1, 772];
/// Attributes: `IFLA_IFNAME`, `IFLA_MASTER`, `IFLA_LINKINFO` and `IFLA_INFO_SLAVE_KIND` in it, `IFLA_XDP` and
/// `IFLA_XDP_PROG_ID` in it.
const NAME: u16 = 3;
const MASTER: u16 = 10;
const KIND: [u16; 2] = [18, 4];
const DRIVER: [u16; 2] = [43, 4];

/// Interfaces with our programs, and those that should have them.
#[derive(Debug)]
pub(super) struct Interfaces {
    /// Named interfaces; empty means all.
    named: Vec<String>,
    xdp: bool,
    /// Name of each interface, by number: names change.
    attached: BTreeMap<u32, String>,
    /// Unsuitable ones, or refused by the kernel: not tried again as long as they exist.
    left_out: BTreeMap<u32, String>,
}

impl Interfaces {
    /// Attaches to all named interfaces, or to all suitable ones.
    pub(super) fn attach(named: &[String], xdp: bool, programs: &mut Programs) -> Result<Self, DaemonError> {
        let (attached, left_out) = (BTreeMap::new(), BTreeMap::new());
        let mut own = Self { named: named.to_vec(), xdp, attached, left_out };
        let there = there()?;
        if let Some(missing) = named.iter().find(|name| !there.iter().any(|there| there.name == **name)) {
            return Err(KernelError::NoInterface(missing.clone()).into());
        }
        for there in own.wanted(there) {
            match own.one(&there, programs) {
                Ok(()) => own.attached.insert(there.number, there.name),
                Err(KernelError::NotEthernet(name)) if named.is_empty() => {
                    own.left_out.insert(there.number, name)
                }
                Err(error) => return Err(error.into()),
            };
        }
        if own.attached.is_empty() { Err(DaemonError::NoInterface) } else { Ok(own) }
    }

    /// Attaches to interfaces that came, or came back, since the last look, and where somebody took our programs off or
    /// came before them; leaves those that went, to another network too, or became part of another. Returns sentences
    /// about it.
    pub(super) fn look(&mut self, programs: &mut Programs) -> Vec<String> {
        let Ok(there) = there() else { return Vec::new() };
        let wanted = self.wanted(there);
        let mut said = Vec::new();
        let is_wanted = |number: &u32| wanted.iter().any(|there| there.number == *number);
        self.left_out.retain(|number, _| is_wanted(number));
        for (number, name) in self.attached.extract_if(.., |number, _| !is_wanted(number)) {
            programs.detach(number);
            said.push(format!("the interface {name} is gone: nothing comes in through it any more"));
        }
        for there in wanted {
            let (number, name) = (there.number, there.name.clone());
            let before = self.attached.insert(number, name.clone());
            let is_first = before.is_some() && programs.is_first(number, there.driver).unwrap_or(true);
            if is_first || self.left_out.contains_key(&number) {
                continue;
            }
            match self.one(&there, programs) {
                Ok(()) if before.is_some() => {
                    said.push(format!(
                        "somebody took police off {name}, or came before it; it is first again"
                    ));
                }
                Ok(()) => said.push(format!("the interface {name} is there, and is looked at from now on")),
                Err(error) => {
                    if !matches!(error, KernelError::NotEthernet(_)) {
                        said.push(error.to_string());
                    }
                    self.left_out.insert(number, name);
                }
            }
        }
        self.attached.retain(|number, _| !self.left_out.contains_key(number));
        said
    }

    /// Interfaces with our programs.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.attached.values().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// Interfaces without our programs, existing or only named.
    pub(super) fn missing(&self) -> Vec<&str> {
        let named = self.named.iter().filter(|name| !self.attached.values().any(|there| there == *name));
        let others = self.left_out.values().filter(|name| !self.named.contains(name));
        named.chain(others).map(String::as_str).collect()
    }

    fn one(&self, there: &There, programs: &mut Programs) -> Result<(), KernelError> {
        let name = there.name.as_str();
        match there.is_ethernet {
            false => Err(KernelError::NotEthernet(name.to_owned())),
            // Loopback's packets never pass a driver.
            true if self.xdp && name != "lo" => programs.attach_xdp(name),
            true => programs.attach(name),
        }
    }

    fn wanted(&self, mut there: Vec<There>) -> Vec<There> {
        there.retain(|there| match self.named.as_slice() {
            [] => !there.is_part,
            named => named.contains(&there.name),
        });
        there
    }
}

/// An existing interface.
struct There {
    number: u32,
    name: String,
    /// Whether it is part of a bridge or bond: its packets come in through that a second time. Those of a VRF do not.
    is_part: bool,
    is_ethernet: bool,
    /// Number of the program in its driver.
    driver: Option<u32>,
}

/// All interfaces. Not from /sys, which shows the network in which it was mounted.
fn there() -> Result<Vec<There>, DaemonError> {
    let mut found = Vec::new();
    let read = |answer: &[u8]| found.extend(parse(answer));
    let asked = netlink::list(SockProtocol::NetlinkRoute, GET_LINK, &[0; ABOUT_BYTES], read);
    asked.map_err(DaemonError::system("interfaces"))?;
    Ok(found)
}

fn parse(answer: &[u8]) -> Option<There> {
    let all = answer.get(ABOUT_BYTES..)?;
    let within = |[outer, inner]: [u16; 2]| attribute(attribute(all, outer)?, inner);
    let name = CStr::from_bytes_until_nul(attribute(all, NAME)?).ok()?.to_string_lossy().into_owned();
    let is_part = attribute(all, MASTER).is_some() && within(KIND) != Some(b"vrf\0");
    Some(There {
        number: word(answer, NUMBER)?,
        name,
        is_part,
        is_ethernet: half(answer, TYPE).is_some_and(|kind| ETHERNET.contains(&kind)),
        driver: within(DRIVER).and_then(|id| word(id, 0)),
    })
}

/// The first attribute of a kind.
fn attribute(mut all: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        // Its own head is four bytes of it; the highest bits of its kind say what is in it.
        let (length, kind) = (usize::from(half(all, 0)?).max(4), half(all, 2)? & 0x3fff);
        if kind == wanted {
            return all.get(4..length);
        }
        all = all.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(all: &[(u16, &[u8])]) -> Vec<u8> {
        let one = |(kind, value): &(u16, &[u8])| {
            let mut bytes = [(4 + value.len() as u16).to_ne_bytes(), kind.to_ne_bytes()].concat();
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        all.iter().flat_map(one).collect()
    }

    #[test]
    fn parts_of_bridges_are_told_from_those_of_a_vrf() {
        let cases = [(None, false), (Some("bridge\0"), true), (Some("vrf\0"), false)];
        for (kind, expected) in cases {
            let inner = kind.map(|kind| attributes(&[(4, kind.as_bytes())]));
            let driver = attributes(&[(2, &[1]), (4, &77_u32.to_ne_bytes())]);
            let mut all = vec![(NAME, &b"eth0\0"[..]), (43, &driver)];
            // The kernel says that there are attributes in it.
            all.extend(inner.as_ref().map(|inner| (18 | 0x8000, &inner[..])));
            all.extend(kind.map(|_| (MASTER, &[5, 0, 0, 0][..])));
            let answer = [vec![0, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], attributes(&all)].concat();
            let there = parse(&answer).unwrap();
            let told = (there.number, there.name.as_str(), there.is_part, there.is_ethernet, there.driver);
            assert_eq!(told, (9, "eth0", expected, true, Some(77)));
            assert!(
                (0..answer.len())
                    .all(|length| parse(&answer[..length]).is_none_or(|there| there.number == 9))
            );
        }
    }
}
