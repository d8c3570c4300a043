//! System layer, the only crate with unsafe code: drivers, sockets, namespaces, files, CPU clocks, pinning, spawning.
//!
//! Used by both sides of the wall. Owns the system calls; decides nothing. Every unsafe block states its proof. Errors
//! are the kernel's, with nothing added: callers know what they were doing.

pub mod affinity;
pub mod audit;
pub mod bpf;
pub mod changes;
pub mod counter;
pub mod cpu_clock;
pub mod descriptors;
pub mod disk;
pub mod driver;
pub mod epoll;
pub mod fanotify;
pub mod file;
pub mod inode;
pub mod landlock;
pub mod lease;
pub mod lines;
pub mod mount;
pub mod namespace;
pub mod net;
pub mod netlink;
pub mod notify;
pub mod pages;
pub mod privilege;
pub mod process;
pub mod rlimit;
pub mod seccomp;
pub mod secret;
pub mod tap;
pub mod thread;
