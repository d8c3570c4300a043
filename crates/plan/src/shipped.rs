//! Plans, suites, directories, layers and the log inside the program.

use bakeoff_workload::replay::LogSource;

/// A plan that needs no file.
#[derive(Clone, Copy, Debug)]
pub struct ShippedPlan {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All plans, the quickstart first.
pub const PLANS: &[ShippedPlan] = &[
    ShippedPlan { name: "quickstart", text: include_str!("../../../plans/quickstart.toml") },
    ShippedPlan { name: "nginx-tls", text: include_str!("../../../plans/nginx-tls.toml") },
    ShippedPlan { name: "nginx-100mbit", text: include_str!("../../../plans/nginx-100mbit.toml") },
    ShippedPlan { name: "apache-tls", text: include_str!("../../../plans/apache-tls.toml") },
    ShippedPlan { name: "webstone", text: include_str!("../../../plans/webstone.toml") },
    ShippedPlan { name: "tls-connections", text: include_str!("../../../plans/tls-connections.toml") },
    ShippedPlan { name: "tls-first-use", text: include_str!("../../../plans/tls-first-use.toml") },
    ShippedPlan { name: "tls-certificates", text: include_str!("../../../plans/tls-certificates.toml") },
    ShippedPlan { name: "tls-ciphers", text: include_str!("../../../plans/tls-ciphers.toml") },
    ShippedPlan { name: "tls-handshake", text: include_str!("../../../plans/tls-handshake.toml") },
    ShippedPlan { name: "http-version", text: include_str!("../../../plans/http-version.toml") },
    ShippedPlan { name: "compression", text: include_str!("../../../plans/compression.toml") },
    ShippedPlan { name: "compression-caddy", text: include_str!("../../../plans/compression-caddy.toml") },
    ShippedPlan { name: "waf", text: include_str!("../../../plans/waf.toml") },
    ShippedPlan { name: "waf-apache", text: include_str!("../../../plans/waf-apache.toml") },
    ShippedPlan { name: "access-log", text: include_str!("../../../plans/access-log.toml") },
    ShippedPlan { name: "access-log-others", text: include_str!("../../../plans/access-log-others.toml") },
    ShippedPlan { name: "upstream", text: include_str!("../../../plans/upstream.toml") },
    ShippedPlan { name: "filters", text: include_str!("../../../plans/filters.toml") },
    ShippedPlan { name: "filter-calls", text: include_str!("../../../plans/filter-calls.toml") },
    ShippedPlan { name: "sidecar", text: include_str!("../../../plans/sidecar.toml") },
    ShippedPlan { name: "tracing", text: include_str!("../../../plans/tracing.toml") },
    ShippedPlan { name: "agent-build", text: include_str!("../../../plans/agent-build.toml") },
    ShippedPlan { name: "agent-python", text: include_str!("../../../plans/agent-python.toml") },
    ShippedPlan { name: "agent-git", text: include_str!("../../../plans/agent-git.toml") },
    ShippedPlan { name: "agent-calls", text: include_str!("../../../plans/agent-calls.toml") },
    ShippedPlan { name: "at-rest", text: include_str!("../../../plans/at-rest.toml") },
    ShippedPlan { name: "firewall", text: include_str!("../../../plans/firewall.toml") },
    ShippedPlan { name: "antivirus", text: include_str!("../../../plans/antivirus.toml") },
    ShippedPlan { name: "url-rules", text: include_str!("../../../plans/url-rules.toml") },
    ShippedPlan { name: "afpa-url", text: include_str!("../../../plans/afpa-url.toml") },
    ShippedPlan { name: "afpa-syn", text: include_str!("../../../plans/afpa-syn.toml") },
    ShippedPlan { name: "afpa-burst", text: include_str!("../../../plans/afpa-burst.toml") },
    ShippedPlan { name: "afpa-rules", text: include_str!("../../../plans/afpa-rules.toml") },
    ShippedPlan { name: "afpa-classes", text: include_str!("../../../plans/afpa-classes.toml") },
    ShippedPlan { name: "afpa-rate", text: include_str!("../../../plans/afpa-rate.toml") },
    ShippedPlan { name: "afpa-overload", text: include_str!("../../../plans/afpa-overload.toml") },
    ShippedPlan { name: "afpa-step", text: include_str!("../../../plans/afpa-step.toml") },
    ShippedPlan { name: "afpa-link", text: include_str!("../../../plans/afpa-link.toml") },
    ShippedPlan { name: "afpa-cache", text: include_str!("../../../plans/afpa-cache.toml") },
    ShippedPlan { name: "cache-verdict", text: include_str!("../../../plans/cache-verdict.toml") },
    ShippedPlan { name: "compile", text: include_str!("../../../plans/compile.toml") },
    ShippedPlan { name: "enforcer", text: include_str!("../../../plans/enforcer.toml") },
    ShippedPlan { name: "enforcer-cpu", text: include_str!("../../../plans/enforcer-cpu.toml") },
    ShippedPlan { name: "calls", text: include_str!("../../../plans/calls.toml") },
    ShippedPlan { name: "files", text: include_str!("../../../plans/files.toml") },
    ShippedPlan { name: "webfs-loopback", text: include_str!("../../../plans/webfs-loopback.toml") },
    ShippedPlan { name: "webfs-10mbit", text: include_str!("../../../plans/webfs-10mbit.toml") },
    ShippedPlan { name: "webfs-10mbit-large", text: include_str!("../../../plans/webfs-10mbit-large.toml") },
    ShippedPlan { name: "webfs-1gbit", text: include_str!("../../../plans/webfs-1gbit.toml") },
    ShippedPlan { name: "webfs-first", text: include_str!("../../../plans/webfs-first.toml") },
    ShippedPlan { name: "webfs-cached", text: include_str!("../../../plans/webfs-cached.toml") },
    ShippedPlan {
        name: "confinement-compile",
        text: include_str!("../../../plans/confinement-compile.toml"),
    },
    ShippedPlan {
        name: "confinement-webstone",
        text: include_str!("../../../plans/confinement-webstone.toml"),
    },
    ShippedPlan {
        name: "confinement-full-speed",
        text: include_str!("../../../plans/confinement-full-speed.toml"),
    },
    ShippedPlan { name: "confinement-calls", text: include_str!("../../../plans/confinement-calls.toml") },
    ShippedPlan {
        name: "selinux-here-compile",
        text: include_str!("../../../plans/selinux-here-compile.toml"),
    },
    ShippedPlan {
        name: "selinux-here-webstone",
        text: include_str!("../../../plans/selinux-here-webstone.toml"),
    },
    ShippedPlan {
        name: "selinux-here-full-speed",
        text: include_str!("../../../plans/selinux-here-full-speed.toml"),
    },
    ShippedPlan { name: "selinux-here-calls", text: include_str!("../../../plans/selinux-here-calls.toml") },
];

/// Suites of them, in the same form.
pub const SUITES: &[ShippedPlan] = &[
    ShippedPlan { name: "afpa", text: include_str!("../../../plans/afpa.toml") },
    ShippedPlan { name: "confinement", text: include_str!("../../../plans/confinement.toml") },
    ShippedPlan { name: "selinux-here", text: include_str!("../../../plans/selinux-here.toml") },
    ShippedPlan { name: "webfs", text: include_str!("../../../plans/webfs.toml") },
    ShippedPlan { name: "tls", text: include_str!("../../../plans/tls.toml") },
    ShippedPlan { name: "agent-sandbox", text: include_str!("../../../plans/agent-sandbox.toml") },
    ShippedPlan { name: "machine", text: include_str!("../../../plans/machine.toml") },
    ShippedPlan { name: "prices", text: include_str!("../../../plans/prices.toml") },
];

/// Plans and suites that answer what a layer costs, each part within ten minutes.
pub const RECIPES: [&str; 17] = [
    "http-version",
    "compression",
    "compression-caddy",
    "waf",
    "waf-apache",
    "access-log",
    "access-log-others",
    "upstream",
    "filters",
    "filter-calls",
    "sidecar",
    "tracing",
    "at-rest",
    "tls",
    "agent-sandbox",
    "machine",
    "prices",
];

/// Directories that arms of `files` workloads may name: the keys of such an arm.
pub const DIRECTORIES: &str = include_str!("../../../plans/directories.toml");

/// The layers that come with bakeoff, in the form of a plan's own.
pub const LAYERS: &str = include_str!("../../../plans/layers.toml");

/// The plan of this name.
pub fn plan(name: &str) -> Option<ShippedPlan> {
    PLANS.iter().copied().find(|plan| plan.name == name)
}

/// The suite of this name.
pub fn suite(name: &str) -> Option<ShippedPlan> {
    SUITES.iter().copied().find(|suite| suite.name == name)
}

/// The bundled log of this name.
pub fn log(name: &str) -> Option<LogSource> {
    (name == "weblog").then_some(LogSource::Embedded {
        name: "the bundled log",
        bytes: include_bytes!("../../../plans/weblog.log.gz"),
    })
}

impl ShippedPlan {
    /// The subject of the plan: the comment on its first line.
    pub fn summary(&self) -> &'static str {
        summary(self.text)
    }
}

/// The comment on a text's first line.
pub(crate) fn summary(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim_start_matches('#').trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, PlanSource};
    use bakeoff_units::Nanos;

    #[test]
    fn the_suite_of_prices_has_each_recipe_and_no_part_takes_longer_than_ten_minutes() {
        let parts = |suite: ShippedPlan| -> Vec<&str> {
            let names = suite.text.lines().filter_map(|line| line.strip_prefix("plan = "));
            names.map(|name| name.trim_matches('"')).collect()
        };
        let all = parts(suite("prices").unwrap());
        for recipe in RECIPES {
            let own = suite(recipe).map_or(vec![recipe], parts);
            assert!(own.iter().all(|name| all.contains(name)), "{recipe}: {own:?}");
        }
        for name in all {
            let plan = Plan::of(&PlanSource::shipped(plan(name).unwrap())).unwrap();
            assert!(plan.budget <= Nanos::from_secs(600), "{name}: {}", plan.budget);
        }
    }
}
