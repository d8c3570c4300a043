//! Which system calls a process may make from now on: a filter that the kernel runs before each of them.
//!
//! Measured side; making one is cold, what it says runs at every call (calls without a condition on their
//! arguments are answered from a bitmap of the kernel's, the others by a few steps of classic BPF). Owns the
//! assembling and applying. Decides nothing: the tables are the callers'.
//!
//! What a table does not name fails with EPERM, and the kernel's log names it (`type=1326 ... syscall=N`). It
//! does not end the process: a layer that is ended protects nothing, and a call that is refused does nothing.
//! Calls of another architecture, for which the numbers of the table would mean other calls, do end it; no
//! right program makes one.

use libc::{c_long, sock_filter};
use std::io;

/// The kernel's name of this machine's architecture, `linux/audit.h`.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// Numbers from here on are x32's: the same machine, and calls by other numbers.
const X32: u32 = 0x4000_0000;

/// What an argument must be. The kernel hands on 64 bits, of which a call may look at 32 only: what it
/// does not look at may be anything, and must not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    index: u8,
    mask: u64,
    value: u64,
}

impl Argument {
    /// An `int` or `unsigned int`, the argument number `index` from 0: its bits under `mask` are those of `value`.
    pub const fn int(index: u8, mask: u32, value: u32) -> Self {
        Self { index, mask: mask as u64, value: value as u64 }
    }

    /// A `long`, `size_t` or pointer.
    pub const fn long(index: u8, mask: u64, value: u64) -> Self {
        Self { index, mask, value }
    }
}

/// One way in which a call may be made. Several of one call are alternatives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    number: c_long,
    wanted: &'static [Argument],
    answer: u32,
}

/// The call is made.
pub const fn allow(number: c_long) -> Rule {
    Rule { number, wanted: &[], answer: libc::SECCOMP_RET_ALLOW }
}

/// The call is made if all these arguments are as they must be.
pub const fn allow_if(number: c_long, wanted: &'static [Argument]) -> Rule {
    Rule { number, wanted, answer: libc::SECCOMP_RET_ALLOW }
}

/// The call fails as on a kernel that does not know it (ENOSYS), so that the C library takes an older one,
/// whose arguments a filter can see.
pub const fn unknown(number: c_long) -> Rule {
    Rule { number, wanted: &[], answer: libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32 }
}

/// A filter: two programs, of which the sterner answer counts.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Answers what is [`unknown`], and is not logged: that is asked for whenever a thread is started.
    absent: Vec<sock_filter>,
    allowed: Vec<sock_filter>,
}

/// Operations of classic BPF: load a word of the call, mask it, compare it, answer.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Where the words of `struct seccomp_data` lie.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Goes on when it holds; skips `otherwise` steps when not.
const fn unless(code: u16, k: u32, otherwise: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: otherwise, k }
}

impl Filter {
    /// Allows what these tables say and refuses everything else. What is asked for often should come first.
    pub fn new(tables: &[&[Rule]]) -> Self {
        let rules = || tables.iter().copied().flatten().copied();
        let absent = rules().filter(|rule| rule.answer != libc::SECCOMP_RET_ALLOW);
        let allowed = rules().map(|rule| Rule { answer: libc::SECCOMP_RET_ALLOW, ..rule });
        Self {
            absent: assemble(absent, libc::SECCOMP_RET_ALLOW),
            allowed: assemble(allowed, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        }
    }

    /// From now on for all threads of this process, and all that they start. It cannot be taken back. Nor can
    /// programs that are executed get rights by set-user-id from now on.
    ///
    /// # Errors
    /// What the kernel reports; `EINVAL` on one without filters or with a longer one than it takes.
    pub fn apply(&self) -> io::Result<()> {
        self.load(libc::SECCOMP_FILTER_FLAG_TSYNC)
    }

    /// The same for the calling thread alone, and what it starts: to try a filter without living under it.
    ///
    /// # Errors
    /// As [`apply`](Self::apply).
    pub fn apply_to_this_thread(&self) -> io::Result<()> {
        self.load(0)
    }

    fn load(&self, flags: libc::c_ulong) -> io::Result<()> {
        // SAFETY: prctl with integers.
        if unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) } < 0 {
            return Err(io::Error::last_os_error());
        }
        load(&self.absent, flags)?;
        load(&self.allowed, flags | libc::SECCOMP_FILTER_FLAG_LOG)
    }
}

fn load(steps: &[sock_filter], flags: libc::c_ulong) -> io::Result<()> {
    let len = u16::try_from(steps.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let program = libc::sock_fprog { len, filter: steps.as_ptr().cast_mut() };
    // SAFETY: the program's steps live through the call, which copies them and changes nothing.
    let done =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    match done {
        0 => Ok(()),
        // The number of a thread that has another filter: none has it now.
        1.. => Err(io::ErrorKind::ResourceBusy.into()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn assemble(rules: impl Iterator<Item = Rule>, otherwise: u32) -> Vec<sock_filter> {
    let otherwise = step(RETURN, otherwise);
    let mut steps = vec![
        step(LOAD, ARCHITECTURE_AT),
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: ARCHITECTURE },
        step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        step(LOAD, NUMBER_AT),
    ];
    if cfg!(target_arch = "x86_64") {
        steps.extend([unless(IF_AT_LEAST, X32, 1), otherwise]);
    }
    rules.for_each(|rule| steps.extend(rule.steps()));
    steps.push(otherwise);
    steps
}

impl Rule {
    /// Answers if the call is this one and its arguments fit; else falls through to the next rule, with the
    /// number loaded as it was found.
    fn steps(&self) -> Vec<sock_filter> {
        let checks: Vec<_> = self.wanted.iter().flat_map(Argument::halves).collect();
        let answer = step(RETURN, self.answer);
        if checks.is_empty() {
            return vec![unless(IF_EQUAL, self.number as u32, 1), answer];
        }
        // Number; three steps a check; the answer; the number again.
        let mut left = 3 * checks.len() as u8 + 2;
        let mut steps = vec![unless(IF_EQUAL, self.number as u32, left)];
        for (at, mask, value) in checks {
            left -= 3;
            // To the last step, over the checks that are left and the answer.
            steps.extend([step(LOAD, at), step(AND, mask), unless(IF_EQUAL, value, left - 1)]);
        }
        steps.extend([answer, step(LOAD, NUMBER_AT)]);
        steps
    }
}

impl Argument {
    /// Its halves that matter: where, under which mask, what. Both architectures have the lower half first.
    fn halves(&self) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let Self { index, mask, value } = *self;
        let value = value & mask;
        let at = ARGUMENTS_AT + 8 * u32::from(index);
        let both = [(at, mask as u32, value as u32), (at + 4, (mask >> 32) as u32, (value >> 32) as u32)];
        both.into_iter().filter(|(_, mask, _)| *mask != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel would answer: the sterner of both.
    fn answer(filter: &Filter, architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let run = |steps| run(steps, architecture, number, arguments);
        match run(&filter.absent) {
            ALLOWED => run(&filter.allowed),
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
                RETURN => return k,
                _ => panic!("operation {code}"),
            }
        }
    }

    const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
    const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;

    fn filter() -> Filter {
        const TABLE: [Rule; 6] = [
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
    fn the_kernel_takes_it_and_does_as_it_says() {
        let tried = std::thread::spawn(|| {
            // All that a thread needs to end, and to say what it found.
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
            const FLAGS: [Rule; 1] = [allow_if(libc::SYS_fcntl, &[Argument::int(1, u32::MAX, 1)])];
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
