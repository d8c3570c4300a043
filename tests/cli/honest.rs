//! Honest proxies, which must pass without a fault: the plan with which `benches/honest/run` makes a million requests.

use crate::caches::prints;
use crate::support::{Yard, has};

#[test]
fn a_pass_through_and_a_right_cache_have_no_fault_in_twenty_thousand_requests() {
    let test = "a_pass_through_and_a_right_cache_have_no_fault_in_twenty_thousand_requests";
    if !has("haproxy", test) || !has("varnishd", test) {
        return;
    }
    let yard = Yard::new();
    let plan = include_str!("../../benches/honest/plan.toml").replace("500000", "10000");
    yard.write("plan.toml", plan);
    yard.write("pass.cfg", include_str!("../../benches/honest/pass.cfg"));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    prints(&said, &["haproxy-pass", "varnish"]);
    let results = yard.results("out");
    for (entrant, keeps) in results["entrants"].as_array().unwrap().iter().zip([false, true]) {
        let faults = entrant["faults"].as_array().unwrap();
        let accused: Vec<_> = faults.iter().filter(|fault| fault["only_counted"] == false).collect();
        assert!(accused.is_empty(), "{accused:#?}");
        let point = &entrant["points"][0];
        assert!(point["replies"].as_u64().unwrap() > 9_000, "{point} {}", entrant["errors"]);
        assert_eq!(point["hit_ratio"].as_f64().unwrap() > 0.2, keeps, "{point}");
    }
}
