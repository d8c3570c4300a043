//! Which interfaces are looked at: those that were named, or all that can be; and what became of them.
//!
//! Measured side, cold. In the network of the calling thread.

use super::DaemonError;
use crate::kernel::{KernelError, Programs};
use std::collections::BTreeMap;
use std::fs;

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
        let is_there = |name: &String, number: &u32| there.get(name) == Some(number);
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

    fn wanted(&self, there: &BTreeMap<String, u32>) -> Vec<(String, u32)> {
        let is_wanted = |name: &String| match self.named.as_slice() {
            [] => !has_master(name),
            named => named.contains(name),
        };
        let wanted = there.iter().filter(|(name, _)| is_wanted(name));
        wanted.map(|(name, number)| (name.clone(), *number)).collect()
    }
}

/// All interfaces, by name.
fn there() -> Result<BTreeMap<String, u32>, DaemonError> {
    let all =
        nix::net::if_::if_nameindex().map_err(|errno| DaemonError::system("interfaces")(errno.into()))?;
    Ok(all.iter().map(|one| (one.name().to_string_lossy().into_owned(), one.index())).collect())
}

/// Part of a bridge or bond: what comes in through it comes in through that a second time.
fn has_master(name: &str) -> bool {
    fs::symlink_metadata(format!("/sys/class/net/{name}/master")).is_ok()
}
