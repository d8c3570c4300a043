//! Helper processes for the tests of this crate. `holder emulator` acts as `bakeoff emulator`. `holder link RATE DELAY` makes a
//! link with the emulator, prints that it has, and waits to be killed.

#![allow(clippy::print_stdout)] // the test that started it reads it

use bakeoff_link::{DelayBy, Link, LinkError, LinkSpec, Making, emulator_main};
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["emulator"] => emulator_main(),
        ["link", rate, delay] => match link(rate, delay) {
            Ok(link) => {
                println!("{}", link.emulator_process().unwrap_or(0));
                println!("{}", link.subject().path().display());
                loop {
                    std::thread::park(); // may return for no reason
                }
            }
            Err(error) => {
                println!("{error}");
                ExitCode::FAILURE
            }
        },
        _ => ExitCode::FAILURE,
    }
}

fn link(rate: &str, delay: &str) -> Result<Link, LinkError> {
    let (rate, delay) = (rate.parse().expect("a rate"), delay.parse().expect("a time"));
    let loss = bakeoff_units::Ratio::default();
    let executable = std::env::current_exe().expect("own path");
    let how = Making { executable: &executable, seed: 1, delay_by: DelayBy::Emulator };
    Link::make(LinkSpec { rate, delay, loss }, how)
}
