//! Kernel and policy: built once for the versions of their packages, and kept.
//!
//! Measuring side, cold. Built beside their place and renamed, so that a build that breaks off is never used.

use super::packages;
use crate::GuestError;
use crate::error::at;
use crate::progress::GuestProgress;
use crate::records::Package;
use crate::tools::Tool;
use bakeoff_experiment::environment::sha256_of;
use bakeoff_sys::process;
use std::fs;
use std::path::{Path, PathBuf};

/// The recipe's version: kept builds of another one are not used.
const RECIPE: u32 = 1;
/// Where a kernel's file says how it is packed: the boot protocol's setup sectors, and offset and length of the payload.
const SETUP_SECTORS: usize = 0x1f1;
const PAYLOAD: usize = 0x248;
/// The first bytes of an LZ4 frame of the old form, in which kernels are packed.
const LZ4_LEGACY: [u8; 4] = [0x02, 0x21, 0x4c, 0x18];

/// A kept build.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    dir: PathBuf,
    /// Kernel and policy.
    pub(crate) packages: [Package; 2],
    /// SHA-256 of the kernel that is booted.
    pub(crate) kernel_sha256: String,
    /// SHA-256 of the policy that is loaded.
    pub(crate) policy_sha256: String,
}

impl Base {
    /// A file of it: `vmlinux`, `brd.ko`, `policy`, `file_contexts`.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    fn open(dir: PathBuf, packages: [Package; 2]) -> Result<Self, GuestError> {
        let digest = |name: &str| {
            let path = dir.join(name);
            sha256_of(&path).map_err(at(path))
        };
        let (kernel_sha256, policy_sha256) = (digest("vmlinux")?, digest("policy")?);
        Ok(Self { dir, packages, kernel_sha256, policy_sha256 })
    }
}

/// The kept build of the versions that apt offers; built where there is none.
pub(crate) fn base(cache: &Path, progress: &mut dyn GuestProgress) -> Result<Base, GuestError> {
    let packages = packages::wanted()?;
    let [kernel, policy] = &packages;
    let plain = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-', "_");
    let name = format!("{RECIPE}-{}-{}-{}", kernel.name, plain(&kernel.version), plain(&policy.version));
    let dir = cache.join(&name);
    if dir.is_dir() {
        return Base::open(dir, packages);
    }
    progress.stage(&format!("building the guest once: {} and {}", kernel.name, policy.name));
    sweep(cache);
    let kept = cache.join("packages");
    let debs = [packages::fetch(kernel, &kept)?, packages::fetch(policy, &kept)?];
    let beside = cache.join(format!(".{name}.{}", std::process::id()));
    let built =
        fs::create_dir(&beside).map_err(at(&beside)).and_then(|()| make(&beside, &debs)).and_then(|()| {
            match fs::rename(&beside, &dir) {
                Err(_) if dir.is_dir() => Ok(()), // another bakeoff was faster
                other => other.map_err(at(&dir)),
            }
        });
    let _ = fs::remove_dir_all(&beside);
    built?;
    Base::open(dir, packages)
}

/// Takes away what builds have left whose bakeoff is gone.
fn sweep(cache: &Path) {
    for entry in fs::read_dir(cache).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix('.').and_then(|name| name.rsplit('.').next()?.parse::<u32>().ok());
        if pid.is_some_and(process::is_gone) {
            let _ = fs::remove_dir_all(entry.path()); // it is in nobody's way
        }
    }
}

fn make(dir: &Path, [kernel, policy]: &[PathBuf; 2]) -> Result<(), GuestError> {
    let (unpacked, store) = (dir.join("unpacked"), dir.join("store"));
    for package in [kernel, policy] {
        Tool::new("dpkg").words(["-x".as_ref(), package.as_os_str(), unpacked.as_os_str()]).run()?;
    }
    cut_kernel(&one(&unpacked.join("boot"), "vmlinuz-")?, dir)?;
    let modules = one(&unpacked.join("lib/modules"), "")?;
    let brd = modules.join("kernel/drivers/block/brd.ko");
    fs::copy(&brd, dir.join("brd.ko")).map_err(at(brd))?;
    compile_policy(&unpacked, &store)?;
    let made = store.join("etc/selinux/default");
    let moved = [
        (one(&made.join("policy"), "policy.")?, "policy"),
        (made.join("contexts/files/file_contexts"), "file_contexts"),
        (made.join("contexts/files/file_contexts.subs_dist"), "file_contexts.subs_dist"),
    ];
    for (from, name) in moved {
        fs::copy(&from, dir.join(name)).map_err(at(from))?;
    }
    [unpacked, store].iter().try_for_each(|path| fs::remove_dir_all(path).map_err(at(path)))
}

/// The ELF out of the kernel's file: QEMU boots it as it is, with neither loader nor unpacking.
fn cut_kernel(packed: &Path, dir: &Path) -> Result<(), GuestError> {
    let bytes = fs::read(packed).map_err(at(packed))?;
    let payload = payload(&bytes).ok_or_else(|| {
        GuestError::Recipe(format!(
            "{}: no kernel that is packed with LZ4, as Debian's are",
            packed.display()
        ))
    })?;
    let (frame, kernel) = (dir.join("vmlinux.lz4"), dir.join("vmlinux"));
    fs::write(&frame, payload).map_err(at(&frame))?;
    Tool::new("lz4").words(["-dqf".as_ref(), frame.as_os_str(), kernel.as_os_str()]).run()?;
    fs::remove_file(&frame).map_err(at(frame))
}

/// The packed kernel; the last four bytes of the payload are its unpacked size.
fn payload(bytes: &[u8]) -> Option<&[u8]> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let sectors = usize::from(*bytes.get(SETUP_SECTORS)?);
    let start = (sectors + 1) * 512 + number(PAYLOAD)?;
    let frame = bytes.get(start..(start + number(PAYLOAD + 4)?).checked_sub(4)?)?;
    frame.starts_with(&LZ4_LEGACY).then_some(frame)
}

/// All modules of the policy, in a store of its own: this machine's policy, if it has one, is not touched.
fn compile_policy(unpacked: &Path, store: &Path) -> Result<(), GuestError> {
    let (etc, library) = (store.join("etc"), store.join("var/lib/selinux/default"));
    fs::create_dir_all(&etc).map_err(at(&etc))?;
    fs::create_dir_all(&library).map_err(at(&library))?;
    let from = unpacked.join("etc/selinux");
    fs::rename(&from, etc.join("selinux")).map_err(at(&from))?;
    // Modules are not packed again: half of the time.
    let settings = etc.join("selinux/semanage.conf");
    let text = "module-store = direct\nexpand-check = 0\nbzip-blocksize = 0\nusepasswd = false\n";
    fs::write(&settings, text).map_err(at(settings))?;
    let modules = unpacked.join("usr/share/selinux/default");
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&modules).map_err(at(&modules))?.flatten().map(|e| e.path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(".pp"));
    paths.sort();
    let installs = paths.iter().flat_map(|path| ["-i".as_ref(), path.as_os_str()]);
    Tool::new("semodule")
        .words(["-p".as_ref(), store.as_os_str()])
        .words(["-S", "/var/lib/selinux", "-s", "default", "-n", "-N", "-X", "100"])
        .words(installs)
        .run()
        .map(drop)
}

/// The first entry of a directory whose name begins so.
fn one(dir: &Path, prefix: &str) -> Result<PathBuf, GuestError> {
    let entries = fs::read_dir(dir).map_err(at(dir))?;
    let found = entries.flatten().find(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    found.map(|entry| entry.path()).ok_or_else(|| {
        GuestError::Recipe(format!("{}: nothing in the package is called {prefix}*", dir.display()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_payload_is_where_the_boot_protocol_says() {
        let mut bytes = vec![0; 4096];
        bytes[SETUP_SECTORS] = 1;
        bytes[PAYLOAD] = 16;
        bytes[PAYLOAD + 4] = 12;
        bytes[1040..1044].copy_from_slice(&LZ4_LEGACY);
        assert_eq!(payload(&bytes).unwrap().len(), 8);
        bytes[1040] = 0;
        assert!(payload(&bytes).is_none() && payload(&bytes[..600]).is_none() && payload(&[]).is_none());
        bytes[PAYLOAD..PAYLOAD + 8].fill(0xff);
        assert!(payload(&bytes).is_none());
    }
}
