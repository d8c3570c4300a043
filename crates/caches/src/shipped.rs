//! The plans of bake-offs inside the program.

use bakeoff_plan::shipped::ShippedPlan;

/// All of them.
pub const PLANS: &[ShippedPlan] = &[
    ShippedPlan { name: "polymix-1", text: include_str!("../../../plans/polymix-1.toml") },
    ShippedPlan { name: "polymix-4", text: include_str!("../../../plans/polymix-4.toml") },
    ShippedPlan { name: "webaxe-4", text: include_str!("../../../plans/webaxe-4.toml") },
    ShippedPlan { name: "polyfill", text: include_str!("../../../plans/polyfill.toml") },
    ShippedPlan { name: "downtime-2", text: include_str!("../../../plans/downtime-2.toml") },
    ShippedPlan { name: "cache-bakeoff", text: include_str!("../../../plans/cache-bakeoff.toml") },
    ShippedPlan { name: "simple", text: include_str!("../../../plans/simple.toml") },
];
