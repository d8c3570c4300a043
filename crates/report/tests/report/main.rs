//! Every kind of report from made-up results directories: golden files, the schema, a browser.

#![allow(clippy::unwrap_used)] // a test that cannot go on should panic
#![allow(clippy::print_stdout)] // a test that is skipped says so

mod between;
mod caches;
mod data;
mod fixture;
mod guest;
mod page;
mod prices;
mod schema;
mod studies;
mod terminal;
