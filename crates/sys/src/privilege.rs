//! Capabilities of a process, and dropping those that are not needed any more.
//!
//! Measured side, cold. Owns the calls. Rights are a thread's own: a thread gives them up before it starts the threads
//! and processes that should not have them.

use std::io;

/// A right of the superuser, by its number in `linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// To write to files of others, whatever their mode.
    DacOverride = 1,
    /// To read files and directories of others, whatever their mode.
    DacReadSearch = 2,
    /// To change attributes of files of others.
    Fowner = 3,
    /// To send signals to processes of others.
    Kill = 5,
    /// To make files immutable.
    LinuxImmutable = 9,
    /// To listen on ports below 1024.
    NetBindService = 10,
    /// To set up networks: attaching programs to an interface, choosing the socket of a connection.
    NetAdmin = 12,
    /// To look into processes of others, and to copy their descriptors.
    SysPtrace = 19,
    /// To mount, and much else.
    SysAdmin = 21,
    /// To take leases on files of others.
    Lease = 28,
    /// To ask for the audit's settings, and to change them.
    AuditControl = 30,
    /// To load programs that read the kernel's own memory.
    Perfmon = 38,
    /// To load programs into the kernel, and to read and write their maps.
    Bpf = 39,
}

/// Gives up all capabilities but these, for the calling thread and all that it starts from now on; nor can any program
/// that it executes get others, set-user-id or not.
///
/// # Errors
///
/// What the kernel reports. Some may have been given up then.
pub fn keep_only(kept: &[Capability]) -> io::Result<()> {
    let mask = kept.iter().fold(0_u64, |mask, capability| mask | 1 << *capability as u32);
    // SAFETY: prctl with integers.
    if unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    for number in (0..u64::BITS).filter(|number| mask & (1 << number) == 0) {
        // SAFETY: as above. Numbers that the kernel does not know, and users that may not do this and
        // have nothing to give up, are no failure.
        unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number), 0, 0, 0) };
    }
    set(mask & permitted()?)?;
    // SAFETY: as above.
    if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// `_LINUX_CAPABILITY_VERSION_3`: two halves of 32.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    /// 0 is the calling thread.
    pid: libc::c_int,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

fn permitted() -> io::Result<u64> {
    let (header, mut halves) = (Header { version: VERSION, pid: 0 }, [Half::default(); 2]);
    // SAFETY: this version writes two halves, for which there is room.
    let done = unsafe { libc::syscall(libc::SYS_capget, &raw const header, halves.as_mut_ptr()) };
    let [low, high] = halves;
    match done {
        0 => Ok(u64::from(high.permitted) << 32 | u64::from(low.permitted)),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(mask: u64) -> io::Result<()> {
    let half = |mask: u64| Half { effective: mask as u32, permitted: mask as u32, inheritable: 0 };
    let (header, halves) = (Header { version: VERSION, pid: 0 }, [half(mask), half(mask >> 32)]);
    // SAFETY: this version reads two halves.
    match unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_up_is_gone_for_the_thread_alone() {
        let line = |name: &str| {
            let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
            status.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim().to_owned()
        };
        let before = (line("CapPrm:"), line("NoNewPrivs:"));
        let inside = std::thread::spawn(move || {
            keep_only(&[Capability::Kill, Capability::Lease]).unwrap();
            ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:", "NoNewPrivs:"].map(line)
        });
        let [effective, permitted, bounding, inheritable, ambient, closed] = inside.join().unwrap();
        let mask = |hex: &str| u64::from_str_radix(hex, 16).unwrap();
        let wanted = 1 << 5 | 1 << 28;
        assert_eq!(mask(&effective), mask(&before.0) & wanted);
        assert_eq!(mask(&permitted), mask(&before.0) & wanted);
        assert_eq!((mask(&inheritable), mask(&ambient), closed.as_str()), (0, 0, "1"));
        if mask(&before.0) & (1 << 8) != 0 {
            assert_eq!(mask(&bounding) & !wanted, 0);
        }
        assert_eq!((line("CapPrm:"), line("NoNewPrivs:")), before);
    }
}
