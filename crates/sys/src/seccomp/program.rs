//! Assembler of call tables into a program of classic BPF.
//!
//! Pure; cold. A number is found by halving, so that a long table costs about as much as a short one: two steps for
//! each halving, at most three comparisons at the end.

use super::rule::{Argument, SyscallRule, UNKNOWN};
use libc::sock_filter;
use std::collections::BTreeMap;

/// The kernel's name of this machine's architecture, `linux/audit.h`.
#[cfg(target_arch = "x86_64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
pub(super) const ARCHITECTURE: u32 = 0xc000_00b7;

/// Numbers from here on are x32's: the same machine, and calls by other numbers.
pub(super) const X32: u32 = 0x4000_0000;

/// Operations: load a word of the call, mask it, compare it, go on elsewhere, answer.
pub(super) const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
pub(super) const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
pub(super) const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
pub(super) const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
pub(super) const SKIP: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
pub(super) const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Offsets of the words of `struct seccomp_data`.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
const ARGUMENTS_AT: u32 = 16;

/// Number of calls that are compared one after the other.
const FEW: usize = 3;

/// The program's answers to calls without a rule.
pub(super) struct Program {
    /// A call without a rule, or none of whose rules fits.
    pub(super) otherwise: u32,
    /// A call by x32's numbers.
    pub(super) strange: u32,
    /// Calls with a higher number are unknown.
    pub(super) newest: Option<u32>,
}

const fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// Goes on when it holds; skips `otherwise` steps when not.
const fn unless(code: u16, k: u32, otherwise: u8) -> sock_filter {
    sock_filter { code, jt: 0, jf: otherwise, k }
}

impl Program {
    pub(super) fn assemble(&self, rules: impl Iterator<Item = SyscallRule>) -> Vec<sock_filter> {
        let mut steps = vec![
            step(LOAD, ARCHITECTURE_AT),
            sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: ARCHITECTURE },
            step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
            step(LOAD, NUMBER_AT),
        ];
        if cfg!(target_arch = "x86_64") {
            steps.extend([unless(IF_AT_LEAST, X32, 1), step(RETURN, self.strange)]);
        }
        if let Some(newest) = self.newest {
            steps.extend([unless(IF_AT_LEAST, newest + 1, 1), step(RETURN, UNKNOWN)]);
        }
        let mut calls = BTreeMap::<u32, Vec<SyscallRule>>::new();
        rules.for_each(|rule| calls.entry(rule.number as u32).or_default().push(rule));
        steps.extend(self.halves(&calls.into_iter().collect::<Vec<_>>()));
        steps
    }

    /// Ends with an answer, whatever the number is.
    fn halves(&self, calls: &[(u32, Vec<SyscallRule>)]) -> Vec<sock_filter> {
        let (low, high) = calls.split_at(calls.len() / 2);
        let [(first, _), ..] = high else { return vec![step(RETURN, self.otherwise)] };
        if calls.len() <= FEW {
            let mut steps: Vec<_> = calls.iter().flat_map(|call| self.one(call)).collect();
            steps.push(step(RETURN, self.otherwise));
            return steps;
        }
        let (low, high) = (self.halves(low), self.halves(high));
        [vec![unless(IF_AT_LEAST, *first, 1), step(SKIP, low.len() as u32)], low, high].concat()
    }

    /// Answers if the call is this one; else goes on behind, with the number loaded as it was found.
    fn one(&self, (number, rules): &(u32, Vec<SyscallRule>)) -> Vec<sock_filter> {
        let mut answers: Vec<_> = rules.iter().flat_map(SyscallRule::steps).collect();
        if rules.last().is_some_and(|rule| !rule.wanted.is_empty()) {
            answers.push(step(RETURN, self.otherwise));
        }
        let found = sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: *number };
        [vec![found, step(SKIP, answers.len() as u32)], answers].concat()
    }
}

impl SyscallRule {
    /// Answers if the arguments fit; else goes on behind.
    fn steps(&self) -> Vec<sock_filter> {
        let checks: Vec<_> = self.wanted.iter().flat_map(Argument::halves).collect();
        // Three steps a check, at most twelve checks; the answer.
        let mut left = 3 * checks.len() as u8 + 1;
        let mut steps = Vec::new();
        for (at, mask, value) in checks {
            left -= 3;
            steps.extend([step(LOAD, at), step(AND, mask), unless(IF_EQUAL, value, left)]);
        }
        steps.push(step(RETURN, self.answer));
        steps
    }
}

impl Argument {
    /// Its halves that matter: offset, mask, value. Both architectures have the lower half first.
    fn halves(&self) -> impl Iterator<Item = (u32, u32, u32)> + use<> {
        let Self { index, mask, value } = *self;
        let value = value & mask;
        let at = ARGUMENTS_AT + 8 * u32::from(index);
        let both = [(at, mask as u32, value as u32), (at + 4, (mask >> 32) as u32, (value >> 32) as u32)];
        both.into_iter().filter(|(_, mask, _)| *mask != 0)
    }
}
