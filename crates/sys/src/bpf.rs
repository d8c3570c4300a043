//! BPF calls of the kernel that no library offers, and what `/proc` says of programs.
//!
//! Measured side, cold. Owns two calls, and the form of `fdinfo`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// `MEMBARRIER_CMD_GLOBAL` of `linux/membarrier.h`.
const GLOBAL: u32 = 1;

/// Waits until every packet program that runs now has ended: entries that it has read of a map may be taken away
/// afterwards. Some milliseconds.
///
/// # Errors
///
/// A kernel without the call, or a sandbox that forbids it.
pub fn wait_for_programs() -> io::Result<()> {
    let (flags, cpu) = (0_u32, 0_i32);
    // SAFETY: the call has integers only. It waits for a grace period of RCU, under which such programs run; with one
    // processor it returns at once, and there no program is under way while this one runs.
    match unsafe { libc::syscall(libc::SYS_membarrier, GLOBAL, flags, cpu) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Numbers of `enum bpf_cmd`, `enum bpf_attach_type`; places in `union bpf_attr`, and most programs that are listed.
const PROG_QUERY: libc::c_int = 16;
const TCX_INGRESS: u32 = 46;
const SK_LOOKUP: u32 = 36;
const PROG_IDS: usize = 2;
const PROG_COUNT: usize = 3;
const MOST: usize = 64;

/// A place where programs are attached.
#[derive(Clone, Copy, Debug)]
pub enum Hook<'n> {
    /// What comes in through the interface of this number (tcx).
    Ingress(u32),
    /// Connections that look for a listener in a network namespace.
    Lookup(BorrowedFd<'n>),
}

/// Numbers of the programs of a hook in the order in which they run, the first 64.
///
/// # Errors
///
/// There is no such hook, or CAP_NET_ADMIN is missing.
pub fn attached(hook: Hook<'_>) -> io::Result<Vec<u32>> {
    let (target, kind) = match hook {
        Hook::Ingress(interface) => (u64::from(interface), TCX_INGRESS),
        Hook::Lookup(network) => (u64::from(network.as_raw_fd().cast_unsigned()), SK_LOOKUP),
    };
    let mut ids = [0_u32; MOST];
    let mut query = [0_u64; 8];
    query[0] = target | u64::from(kind) << 32;
    query[PROG_IDS] = ids.as_mut_ptr() as u64;
    query[PROG_COUNT] = MOST as u64;
    // SAFETY: the kernel writes into `query`, which is as long as is said, and at most MOST numbers into `ids`; both
    // outlive the call.
    let done = unsafe { libc::syscall(libc::SYS_bpf, PROG_QUERY, query.as_mut_ptr(), size_of_val(&query)) };
    let more = io::Error::last_os_error();
    if done < 0 && more.raw_os_error() != Some(libc::ENOSPC) {
        return Err(more);
    }
    Ok(ids.into_iter().take_while(|id| *id > 0).collect())
}

/// Programs that processes hold, with their tags: the kernel's digest of a program's instructions, without its maps.
/// `/proc` says it of their descriptors to whoever may look at them, where the call by number asks for CAP_SYS_ADMIN.
pub fn held() -> BTreeMap<u32, String> {
    let below = |dir: PathBuf| fs::read_dir(dir).into_iter().flatten().flatten();
    let descriptors = below("/proc".into()).flat_map(|process| below(process.path().join("fd")));
    let programs = descriptors
        .filter(|fd| fs::read_link(fd.path()).is_ok_and(|to| to.as_os_str() == "anon_inode:bpf-prog"));
    programs.filter_map(|fd| tag_of(&fs::read_to_string(said_of(&fd.path())?).ok()?)).collect()
}

/// `/proc/7/fdinfo/3` of `/proc/7/fd/3`.
fn said_of(descriptor: &Path) -> Option<PathBuf> {
    Some(descriptor.parent()?.parent()?.join("fdinfo").join(descriptor.file_name()?))
}

fn tag_of(said: &str) -> Option<(u32, String)> {
    let value =
        |key: &str| said.lines().find_map(|line| Some(line.strip_prefix(key)?.trim_start().to_owned()));
    Some((value("prog_id:")?.parse().ok()?, value("prog_tag:")?))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_program_has_number_and_tag() {
        let said = "pos:\t0\nprog_type:\t3\nprog_tag:\t3b185187f1855c4c\nprog_id:\t12\n";
        assert_eq!(super::tag_of(said), Some((12, "3b185187f1855c4c".to_owned())));
        assert_eq!(super::tag_of("pos:\t0\nprog_tag:\tab\n"), None);
    }

    #[test]
    fn it_comes_back() {
        super::wait_for_programs().unwrap();
    }
}
