//! Seccomp filters: the kernel checks each system call of a process against a table.
//!
//! Measured side; making one is cold, the filter runs at every call (calls without a condition on their arguments are
//! answered from a bitmap of the kernel's, the others by a few steps of classic BPF). Owns the applying; `rule`
//! has the tables' rows, `program` assembles. Decides nothing: the tables are the callers'.
//!
//! There are two kinds. [`Filter::new`] is for a daemon of ours, whose calls are known: calls that its tables do not
//! name fail with EPERM. [`Filter::refusing`] is for other programs: calls that its tables name fail. Either way the
//! kernel's log names the refused call (`type=1326 ... syscall=N`). It does not end the process: a layer that is ended
//! protects nothing, and a call that is refused does nothing. Calls of another architecture, for which the numbers of
//! the table would mean other calls, do end it; no right program makes one.

mod program;
mod rule;

pub use rule::{Argument, SyscallRule, allow, allow_if, refuse, refuse_if, unknown, watch};

use libc::{c_long, sock_filter};
use program::Program;
use rule::{ALLOWED, REFUSED, UNKNOWN, WATCHED};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, of Linux 5.19.
const WAIT_KILLABLE: libc::c_ulong = 1 << 5;

/// A filter: two programs, of which the sterner answer counts.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Answers the calls that are [`unknown`], and is not logged: such a call is made whenever a thread is started.
    absent: Vec<sock_filter>,
    judged: Vec<sock_filter>,
}

impl Filter {
    /// Both programs, for whoever runs them without the kernel.
    pub fn programs(&self) -> [&[sock_filter]; 2] {
        [&self.absent, &self.judged]
    }

    /// Allows the calls of these tables and refuses everything else.
    pub fn new(tables: &[&[SyscallRule]]) -> Self {
        let rules = || tables.iter().copied().flatten().copied();
        let absent = rules().filter(|rule| rule.answer == UNKNOWN);
        let judged = rules().map(|rule| SyscallRule { answer: ALLOWED, ..rule });
        Self {
            absent: Program { otherwise: ALLOWED, strange: ALLOWED, newest: None }.assemble(absent),
            judged: Program { otherwise: REFUSED, strange: REFUSED, newest: None }.assemble(judged),
        }
    }

    /// Refuses the calls of these tables and allows everything else up to the number `newest`: additional calls of
    /// later kernels are [`unknown`], as they could not be judged. Of several rules for one call the first that fits
    /// answers, so that its allowed forms stand before the refused ones.
    pub fn refusing(newest: c_long, tables: &[&[SyscallRule]]) -> Self {
        let rules = || tables.iter().copied().flatten().copied();
        let (absent, judged) =
            (|rule: &SyscallRule| rule.answer == UNKNOWN, |rule: &SyscallRule| rule.answer != UNKNOWN);
        let newest = u32::try_from(newest).ok();
        Self {
            absent: Program { otherwise: ALLOWED, strange: ALLOWED, newest }.assemble(rules().filter(absent)),
            judged: Program { otherwise: ALLOWED, strange: REFUSED, newest: None }
                .assemble(rules().filter(judged)),
        }
    }

    /// Refuses nothing: calls that [`refusing`](Self::refusing) would refuse wait for the listener, as do those that
    /// `watched` names. Calls that are [`unknown`] stay so.
    pub fn watching(newest: c_long, tables: &[&[SyscallRule]], watched: &[SyscallRule]) -> Self {
        let asked = |rule: SyscallRule| {
            if rule.answer == REFUSED { SyscallRule { answer: WATCHED, ..rule } } else { rule }
        };
        let judged =
            tables.iter().copied().flatten().copied().filter(|rule| rule.answer != UNKNOWN).map(asked);
        let judged = judged.chain(watched.iter().copied());
        let program = Program { otherwise: ALLOWED, strange: WATCHED, newest: None };
        Self { judged: program.assemble(judged), ..Self::refusing(newest, tables) }
    }

    /// Applies one that is [`watching`](Self::watching) to the calling thread, and all that it starts, and returns the
    /// descriptor of its listener.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply); `EBUSY` under another listener.
    pub fn listen(&self) -> io::Result<OwnedFd> {
        forbid_privileges()?;
        load(&self.absent, 0)?;
        // A caller that was received is not woken by signals but those that end it: the call is looked at once.
        let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE;
        let fd = set(&self.judged, flags).and_then(|fd| i32::try_from(fd).map_err(io::Error::other))?;
        // SAFETY: a descriptor that was just made and that nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// From now on for all threads of this process, and all that they start. It cannot be taken back. Nor can
    /// programs that are executed get rights by set-user-id from now on.
    ///
    /// # Errors
    /// What the kernel reports; `EINVAL` on one without filters or with a longer one than it takes.
    pub fn apply(&self) -> io::Result<()> {
        self.load(libc::SECCOMP_FILTER_FLAG_TSYNC)
    }

    /// The same for the calling thread alone, and all that it starts: to try a filter without living under it.
    ///
    /// # Errors
    ///
    /// As [`apply`](Self::apply).
    pub fn apply_to_this_thread(&self) -> io::Result<()> {
        self.load(0)
    }

    fn load(&self, flags: libc::c_ulong) -> io::Result<()> {
        forbid_privileges()?;
        load(&self.absent, flags)?;
        load(&self.judged, flags | libc::SECCOMP_FILTER_FLAG_LOG)
    }
}

fn forbid_privileges() -> io::Result<()> {
    // SAFETY: prctl with integers.
    match unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn load(steps: &[sock_filter], flags: libc::c_ulong) -> io::Result<()> {
    match set(steps, flags)? {
        0 => Ok(()),
        // The number of a thread that has another filter: none has it now.
        _ => Err(io::ErrorKind::ResourceBusy.into()),
    }
}

/// The kernel's answer: 0, a thread, or a descriptor.
fn set(steps: &[sock_filter], flags: libc::c_ulong) -> io::Result<c_long> {
    let len = u16::try_from(steps.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: steps.as_ptr().cast_mut() };
    // SAFETY: the program's steps live through the call, which copies them and changes nothing.
    match unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    } {
        answer @ 0.. => Ok(answer),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::program::{AND, ARCHITECTURE, IF_AT_LEAST, IF_EQUAL, LOAD, RETURN, SKIP, X32};
    use super::*;

    /// What the kernel would answer: the sterner of both.
    fn answer(filter: &Filter, architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let run = |steps| run(steps, architecture, number, arguments);
        match run(&filter.absent) {
            ALLOWED => run(&filter.judged),
            other => other,
        }
    }

    /// The few operations that we make, over the words of a call.
    fn run(steps: &[sock_filter], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut words = vec![number, architecture, 0, 0];
        words.extend(arguments.iter().flat_map(|argument| [*argument as u32, (argument >> 32) as u32]));
        let (mut at, mut found) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = steps[at];
            at += 1;
            match code {
                LOAD => found = words[k as usize / 4],
                AND => found &= k,
                IF_EQUAL => at += usize::from(if found == k { jt } else { jf }),
                IF_AT_LEAST => at += usize::from(if found >= k { jt } else { jf }),
                SKIP => at += k as usize,
                RETURN => return k,
                _ => panic!("operation {code}"),
            }
        }
    }

    fn filter() -> Filter {
        const TABLE: [SyscallRule; 6] = [
            allow(libc::SYS_read),
            allow_if(libc::SYS_fcntl, &[Argument::int(1, u32::MAX, 1)]),
            allow_if(libc::SYS_fcntl, &[Argument::int(1, u32::MAX, 3), Argument::int(2, 0xf0, 0x10)]),
            allow_if(libc::SYS_mmap, &[Argument::long(2, 4, 0)]),
            allow_if(libc::SYS_lseek, &[Argument::long(1, u64::MAX, 0x5_0000_0002)]),
            unknown(libc::SYS_clone3),
        ];
        Filter::new(&[&TABLE[..2], &TABLE[2..]])
    }

    #[test]
    fn a_call_is_answered_by_its_number_and_arguments() {
        let filter = filter();
        let of = |number: c_long, arguments| answer(&filter, ARCHITECTURE, number as u32, arguments);
        assert_eq!(of(libc::SYS_read, [u64::MAX; 6]), ALLOWED);
        assert_eq!(of(libc::SYS_write, [0; 6]), REFUSED);
        assert_eq!(of(libc::SYS_clone3, [0; 6]), libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32);
        // Two ways of one call.
        assert_eq!(of(libc::SYS_fcntl, [9, 1, 9, 0, 0, 0]), ALLOWED);
        assert_eq!(of(libc::SYS_fcntl, [9, 3, 0x1f, 0, 0, 0]), ALLOWED);
        assert_eq!(of(libc::SYS_fcntl, [9, 3, 0x2f, 0, 0, 0]), REFUSED);
        assert_eq!(of(libc::SYS_fcntl, [9, 2, 0x1f, 0, 0, 0]), REFUSED);
        // A rule behind one that did not fit.
        assert_eq!(of(libc::SYS_mmap, [0, 0, 3, 0, 0, 0]), ALLOWED);
        assert_eq!(of(libc::SYS_mmap, [0, 0, 7, 0, 0, 0]), REFUSED);
    }

    #[test]
    fn an_int_is_its_lower_half_and_a_long_is_both() {
        let filter = filter();
        let of =
            |number: c_long, second| answer(&filter, ARCHITECTURE, number as u32, [0, second, 0, 0, 0, 0]);
        assert_eq!(of(libc::SYS_fcntl, 0xffff_ffff_0000_0001), ALLOWED, "the kernel does not look at it");
        assert_eq!(of(libc::SYS_lseek, 0x5_0000_0002), ALLOWED);
        assert_eq!(of(libc::SYS_lseek, 0x2), REFUSED);
        assert_eq!(of(libc::SYS_lseek, 0x5_0000_0003), REFUSED);
    }

    #[test]
    fn another_architecture_ends_the_process_and_x32_is_refused() {
        let filter = filter();
        for other in [0x4000_0003, 0x4000_0028, 0] {
            let ended = answer(&filter, other, libc::SYS_read as u32, [0; 6]);
            assert_eq!(ended, libc::SECCOMP_RET_KILL_PROCESS, "{other:x}");
        }
        let x32 = answer(&filter, ARCHITECTURE, X32 | libc::SYS_read as u32, [0; 6]);
        assert_eq!(x32, REFUSED);
    }

    #[test]
    fn what_is_refused_is_found_among_many_and_nothing_else_is() {
        // Every third number, one of them in one way only, one in all ways but one.
        let mut rules: Vec<SyscallRule> = (0..400).map(|number| refuse(3 * number)).collect();
        const ONE_WAY: &[Argument] = &[Argument::int(1, 0x240, 0x200), Argument::long(2, 1, 1)];
        const BUT_ONE: &[Argument] = &[Argument::int(0, u32::MAX, 1)];
        (rules[7], rules[9]) = (refuse_if(21, ONE_WAY), allow_if(27, BUT_ONE));
        rules.extend([refuse(27), unknown(28)]);
        let filter = Filter::refusing(1300, &[&rules]);
        let of = |number, arguments| answer(&filter, ARCHITECTURE, number, arguments);
        for number in 0..1300 {
            let wanted = match number {
                21 => ALLOWED,
                28 => UNKNOWN,
                number if number < 1200 && number % 3 == 0 => REFUSED,
                _ => ALLOWED,
            };
            assert_eq!(of(number, [0; 6]), wanted, "{number}");
        }
        assert_eq!([of(1300, [0; 6]), of(1301, [0; 6]), of(X32 - 1, [0; 6])], [ALLOWED, UNKNOWN, UNKNOWN]);
        assert_eq!(answer(&filter, ARCHITECTURE, X32 | 1, [0; 6]), REFUSED);
        assert_eq!(answer(&filter, 0x4000_0003, 1, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        assert_eq!(of(21, [0, 0x3b0, 1, 0, 0, 0]), REFUSED);
        assert_eq!(of(21, [0, 0x240, 1, 0, 0, 0]), ALLOWED);
        assert_eq!(of(21, [0, 0x200, 2, 0, 0, 0]), ALLOWED);
        assert_eq!([of(27, [1; 6]), of(27, [2; 6])], [ALLOWED, REFUSED]);
    }

    #[test]
    fn the_kernel_takes_it_and_does_as_it_says() {
        let tried = std::thread::spawn(|| {
            // Calls that a thread needs to end, and to report its result.
            const NEEDED: [c_long; 11] = [
                libc::SYS_futex,
                libc::SYS_write,
                libc::SYS_mmap,
                libc::SYS_munmap,
                libc::SYS_mprotect,
                libc::SYS_madvise,
                libc::SYS_brk,
                libc::SYS_rt_sigprocmask,
                libc::SYS_sigaltstack,
                libc::SYS_exit,
                libc::SYS_sched_yield,
            ];
            const FLAGS: [SyscallRule; 1] = [allow_if(libc::SYS_fcntl, &[Argument::int(1, u32::MAX, 1)])];
            let needed = NEEDED.map(allow);
            Filter::new(&[&needed, &FLAGS]).apply_to_this_thread().unwrap();
            // SAFETY: fcntl with integers; whatever the descriptor is, nothing is changed.
            let flags = unsafe { (libc::fcntl(0, libc::F_GETFD), libc::fcntl(0, libc::F_GETFL)) };
            let error = io::Error::last_os_error().raw_os_error();
            let none = std::ptr::null::<u8>();
            // SAFETY: of no process.
            let traced = unsafe { libc::ptrace(libc::PTRACE_ATTACH, -1, none, none) };
            assert_eq!((traced, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EPERM)));
            // SAFETY: the path is a string with its zero; nothing is executed, whatever the answer.
            let executed = unsafe { libc::execve(c"".as_ptr(), std::ptr::null(), std::ptr::null()) };
            assert_eq!((executed, io::Error::last_os_error().raw_os_error()), (-1, Some(libc::EPERM)));
            (flags.0, flags.1, error)
        });
        let (descriptor, file, error) = tried.join().unwrap();
        assert!(descriptor >= 0 || error != Some(libc::EPERM));
        assert_eq!((file, error), (-1, Some(libc::EPERM)));
    }
}
