//! A Debian kernel with its reference policy, booted in QEMU with and without it, and what its processor executed.
//!
//! Measuring side. Owns how the guest is built from packages that are only unpacked, how it is booted, what it
//! runs and how what it prints becomes a table. Counts are instructions, not time, and are never put in one
//! column with times. Starts nothing but QEMU and the tools that make its images.

#![forbid(unsafe_code)]
