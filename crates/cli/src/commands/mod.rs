//! Commands, one file each.

mod adopted;
pub(crate) mod calls;
pub(crate) mod compare;
pub(crate) mod compare_results;
pub(crate) mod conformance;
pub(crate) mod docs;
pub(crate) mod doctor;
pub(crate) mod extract;
mod fronts;
pub(crate) mod generator;
pub(crate) mod layer;
pub(crate) mod load;
mod names;
pub(crate) mod origin;
pub(crate) mod peak;
pub(crate) mod plans;
pub(crate) mod prices;
mod programs;
pub(crate) mod report;
pub(crate) mod robots;
pub(crate) mod run;
mod sides;
pub(crate) mod studies;
pub(crate) mod verify;
mod words;

pub(crate) use robots::resolve;
