//! The processor's own counter; the machine decides what it counts.
//!
//! Both sides of the wall, hot. Cycles of a fixed frequency on real machines; under QEMU with `-icount
//! shift=0` the instructions that the guest has executed. x86-64 only.

/// The counter now; `None` on other processors.
#[inline]
pub fn read() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: reads a register that every x86-64 processor has, and touches no memory.
    return Some(unsafe { std::arch::x86_64::_rdtsc() });
    #[cfg(not(target_arch = "x86_64"))]
    None
}

#[cfg(test)]
mod tests {
    #[test]
    #[cfg(target_arch = "x86_64")]
    fn it_goes_forward() {
        let first = super::read().unwrap();
        let begun = std::time::Instant::now();
        while begun.elapsed().as_millis() < 2 {}
        assert!(super::read().unwrap() > first);
    }
}
