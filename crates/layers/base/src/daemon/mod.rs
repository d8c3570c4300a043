//! What a layer needs as a process of its own: a mount point, the life of a mount, a keeper who takes it off,
//! a door for connections, few rights, few system calls, a status and the degree in it.
//!
//! Measured side, cold. Names no layer: what is mounted, what is served and what the status says is the
//! caller's. Prints nothing.

pub mod calls;
pub mod degree;
pub mod door;
pub mod keeper;
pub mod mount;
pub mod point;
pub mod rights;
pub mod status;
