//! Building blocks of a layer's daemon: mount point, life of a mount, keeper that unmounts, listener, minimal rights
//! and system calls, status file and the degree in it.
//!
//! Measured side, cold. Names no layer: the caller decides what is mounted, what is served and what the status says.
//! Prints nothing.

pub mod calls;
pub mod degree;
pub mod door;
pub mod keeper;
pub mod mount;
pub mod point;
pub mod rights;
pub mod status;
