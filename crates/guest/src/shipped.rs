//! The plans of guests inside the program.

use bakeoff_plan::shipped::ShippedPlan;

/// All of them.
pub const PLANS: &[ShippedPlan] =
    &[ShippedPlan { name: "selinux", text: include_str!("../../../plans/selinux.toml") }];
