//! `bakeoff`: what does that layer cost?
fn main() {}
