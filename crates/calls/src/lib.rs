//! Single system calls and short programs, as lmbench and UnixBench have them, timed by a process of their own.
//!
//! Measuring side. Owns which operations there are, how one is made and how many make a batch. The process
//! that makes them is started through whatever is to be measured (a sandbox, a layer, a guest), commanded over
//! its standard input, and answers in lines. Compares nothing.

#![forbid(unsafe_code)]

mod operation;

pub use operation::Operation;
