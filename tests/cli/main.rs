//! The binary from outside: its input as a user types it, and its two streams, its exit code and its results directory.
//!
//! Each test has a yard of its own, with a temporary directory of its own; after any command no process that knows that
//! directory may be left.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod adopted;
mod bake_off_plans;
mod batching;
mod caches;
mod calls;
mod cheats;
mod codings;
mod compare;
mod compare_results;
mod conformance;
mod contract;
mod doctor;
mod elsewhere;
mod environment_gone_wrong;
mod files;
mod fronts;
mod generators;
mod guest;
mod guide;
mod honest;
mod layers;
mod links;
mod load;
mod logs_gone_wrong;
mod machine_faults;
mod origin;
mod outages;
mod parquet;
mod passes;
mod peak;
mod plan_sources;
mod plans_gone_wrong;
mod police;
mod populations;
mod reach;
mod reconcile;
mod reference;
mod refusals;
mod report;
mod resume;
mod rules;
mod run;
mod scale;
mod schema;
mod served;
mod servers_gone_wrong;
mod settings;
mod sources;
mod standalone;
mod study_afpa;
mod suites;
mod support;
mod timed;
mod transactions;
mod verify;
mod workloads;
mod wraps;
