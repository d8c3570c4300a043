//! Rows of call tables: which system call, with which arguments, and the answer to it.
//!
//! Measured side; cold.

use libc::c_long;

/// A condition on an argument. The kernel hands on 64 bits, of which a call may look at 32 only: the other bits may be
/// anything, and must not be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Argument {
    pub(super) index: u8,
    pub(super) mask: u64,
    pub(super) value: u64,
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
pub struct SyscallRule {
    pub(super) number: c_long,
    pub(super) wanted: &'static [Argument],
    pub(super) answer: u32,
}

impl SyscallRule {
    /// The number of its call.
    pub const fn number(&self) -> c_long {
        self.number
    }
}

/// The call is made.
pub const fn allow(number: c_long) -> SyscallRule {
    SyscallRule { number, wanted: &[], answer: ALLOWED }
}

/// The call is made if all these arguments are as they must be.
pub const fn allow_if(number: c_long, wanted: &'static [Argument]) -> SyscallRule {
    SyscallRule { number, wanted, answer: ALLOWED }
}

/// The call fails as on a kernel that does not know it (ENOSYS), so that the C library takes an older one, whose
/// arguments a filter can see.
pub const fn unknown(number: c_long) -> SyscallRule {
    SyscallRule { number, wanted: &[], answer: UNKNOWN }
}

/// The call fails with EPERM.
pub const fn refuse(number: c_long) -> SyscallRule {
    refuse_if(number, &[])
}

/// The call fails with EPERM if all these arguments are as they are here.
pub const fn refuse_if(number: c_long, wanted: &'static [Argument]) -> SyscallRule {
    SyscallRule { number, wanted, answer: REFUSED }
}

/// The call waits until the listener has looked at it.
pub const fn watch(number: c_long) -> SyscallRule {
    SyscallRule { number, wanted: &[], answer: WATCHED }
}

/// A table of rules. A row says how calls are answered (as [`allow`] or `refuse_if(ARGUMENTS)` do), then which, by the
/// names that `libc` has for them where the table stands. `x86_64` before it: there alone; `number` behind it: constants
/// of the caller; `=` alone: a rule.
#[macro_export]
macro_rules! rules {
    (@ [$($done:tt)*]) => { &[$($done)*] };
    (@ [$($done:tt)*] = $rule:expr; $($rest:tt)*) => { $crate::rules!(@ [$($done)* $rule,] $($rest)*) };
    (@ [$($done:tt)*] x86_64 $how:ident: $($call:ident)+; $($rest:tt)*) => {
        $crate::rules!(@ [$($done)* $(#[cfg(target_arch = "x86_64")] $how(libc::$call),)+] $($rest)*)
    };
    (@ [$($done:tt)*] x86_64 $how:ident($wanted:expr): $($call:ident)+; $($rest:tt)*) => {
        $crate::rules!(@ [$($done)* $(#[cfg(target_arch = "x86_64")] $how(libc::$call, $wanted),)+] $($rest)*)
    };
    (@ [$($done:tt)*] $how:ident number: $($number:ident)+; $($rest:tt)*) => {
        $crate::rules!(@ [$($done)* $($how($number),)+] $($rest)*)
    };
    (@ [$($done:tt)*] $how:ident: $($call:ident)+; $($rest:tt)*) => {
        $crate::rules!(@ [$($done)* $($how(libc::$call),)+] $($rest)*)
    };
    (@ [$($done:tt)*] $how:ident($wanted:expr): $($call:ident)+; $($rest:tt)*) => {
        $crate::rules!(@ [$($done)* $($how(libc::$call, $wanted),)+] $($rest)*)
    };
    ($($row:tt)+) => { $crate::rules!(@ [] $($row)+) };
}

pub(super) const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
pub(super) const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
pub(super) const WATCHED: u32 = libc::SECCOMP_RET_USER_NOTIF;
pub(super) const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_rule_for_each_call_of_its_rows() {
        const WANTED: &[Argument] = &[Argument::int(0, 1, 1)];
        const NEW: c_long = 469;
        const TABLE: &[SyscallRule] = rules! {
            allow: SYS_read SYS_write;
            allow_if(WANTED): SYS_openat;
            x86_64 refuse: SYS_open;
            refuse number: NEW;
            = watch(libc::SYS_close);
        };
        let others = [
            allow(libc::SYS_read),
            allow(libc::SYS_write),
            allow_if(libc::SYS_openat, WANTED),
            #[cfg(target_arch = "x86_64")]
            refuse(libc::SYS_open),
            refuse(469),
            watch(libc::SYS_close),
        ];
        assert_eq!(TABLE, others);
    }
}
