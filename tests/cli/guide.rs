//! The configurations in docs/guide.md run as they stand there.

use crate::support::{Yard, has, plan};

const GUIDE: &str = include_str!("../../docs/guide.md");

/// The blocks of this language, as they are shown.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    GUIDE.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

fn runs(server: &str, program: &str, language: &str, test: &str) {
    if !has(program, test) {
        return;
    }
    let blocks = blocks(language);
    assert!(!blocks.is_empty(), "no {language} in the guide");
    for (number, block) in blocks.into_iter().enumerate() {
        let yard = Yard::new();
        yard.write("shown.conf", block);
        let tls = if block.contains("{cert}") { "tls = true\n" } else { "" };
        yard.write("access.log", include_str!("access.log"));
        let arm = format!(
            "[arm.origin]\nserver = \"origin\"\n[arm.plain]\nserver = \"{server}\"\nconfig = \"shown.conf\"\n{tls}"
        );
        let workload = "kind = \"replay\"\nlog = \"access.log\"\nrobots = 2";
        yard.write("plan.toml", plan("", workload, &arm));
        yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
        let arm = &yard.results("out")["arms"]["plain"];
        assert_eq!(arm["requests"], arm["replies"], "{server} {number}: {}", arm["errors"]);
    }
}

#[test]
fn the_guide_s_nginx_runs() {
    runs("nginx", "nginx", "nginx", "the_guide_s_nginx_runs");
}

#[test]
fn the_guide_s_apache_runs() {
    runs("apache", "apache2", "apache", "the_guide_s_apache_runs");
}

#[test]
fn the_guide_s_caddy_runs() {
    runs("caddy", "caddy", "caddyfile", "the_guide_s_caddy_runs");
}
