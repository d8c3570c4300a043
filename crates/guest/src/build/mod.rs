//! The guest, from packages that are only unpacked.
//!
//! Measuring side, cold. `base` is kernel and policy, kept by the versions of their packages; `tree` the files of
//! its disk, `image` that disk with its labels, `archive` what the kernel unpacks first.

mod archive;
mod base;
mod elf;
mod image;
mod packages;
mod tree;

pub(crate) use base::{Base, base};

use crate::error::at;
use crate::plan::GuestPlan;
use crate::{BootMode, GuestError};
use bakeoff_experiment::environment::sha256_of;
use std::fs;
use std::path::{Path, PathBuf};

const INIT: &[u8] = include_bytes!("../assets/init.sh");

/// What a boot needs, in the run's own directory.
#[derive(Clone, Debug)]
pub(crate) struct Built {
    /// The kernel, as ELF.
    pub(crate) kernel: PathBuf,
    /// What the kernel unpacks first.
    pub(crate) archive: PathBuf,
    /// Size of the guest's disk.
    pub(crate) disk_kib: u64,
    /// Its SHA-256.
    pub(crate) disk_sha256: String,
}

/// Makes the disk with the programs of this machine, and the archive with it, the policy and the first process.
pub(crate) fn build(plan: &GuestPlan, base: &Base, dir: &Path) -> Result<Built, GuestError> {
    let root = dir.join("root");
    tree::plant(plan, &root)?;
    let disk = dir.join("disk.img");
    let disk_kib = image::make(&root, base, &disk)?;
    let disk_sha256 = sha256_of(&disk).map_err(at(&disk))?;
    let archive = dir.join("archive.img");
    let mut packed = archive::Archive::create(&archive)?;
    packed.directories(&["proc", "sys", "dev", "mnt", "bin"])?;
    packed.bytes("init", 0o755, INIT)?;
    packed.copy("bin/busybox", 0o755, &tree::busybox()?)?;
    packed.copy("brd.ko", 0o644, &base.path("brd.ko"))?;
    if plan.modes.iter().any(|mode| matches!(mode, BootMode::Permissive | BootMode::Enforcing)) {
        packed.copy("policy", 0o644, &base.path("policy"))?;
    }
    packed.copy("disk.img", 0o644, &disk)?;
    packed.finish()?;
    fs::remove_file(&disk).map_err(at(&disk))?;
    fs::remove_dir_all(&root).map_err(at(&root))?;
    Ok(Built { kernel: base.path("vmlinux"), archive, disk_kib, disk_sha256 })
}
