//! The plans of guests inside the program.

use bakeoff_experiment::shipped::ShippedPlan;

/// All of them.
pub const PLANS: &[ShippedPlan] =
    &[ShippedPlan { name: "selinux", text: include_str!("../../../plans/selinux.toml") }];
