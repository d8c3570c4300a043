//! Compilation of a rules file into its table.

use crate::rules;
use bakeoff_layers_police::explain::{connection, rate_in_words, request};
use bakeoff_layers_police::rules::Rules;
use bakeoff_layers_police::rules::table::{ConnectionClass, Per, Rate, Refuse, RuleAction, RuleId, When};

const TEXT: &str = r#"
[server]
listen  = [80, 8080]
classes = { high = 8200, normal = 8201, low = 8202 }
[overload]
target = "20ms"
[[from]]
source = "10.0.0.0/8"
class  = "normal"
rate   = "300/s"
burst  = 300
refuse = "reset"
[[request]]
path   = "/cgi-bin/*"
rate   = "20/min"
refuse = "429"
[[request]]
path   = "/shop.html"
class  = "high"
[[from]]
source = "2001:db8::/32"
to     = "2001:db8:ffff::1"
rate   = "1000000/s"
per    = "/64"
each   = "2.5/s"
[[request]]
path   = "*noaccess*"
refuse = "reset"
[odd]
rate   = "10/s"
"#;

#[test]
fn every_key_is_compiled() {
    let table = rules(TEXT).table;
    let class = |name: &str, port| ConnectionClass { name: name.to_owned(), port };
    let classes = vec![class("high", 8200), class("normal", 8201), class("low", 8202)];
    assert_eq!((&table.ports, &table.classes), (&vec![80, 8080], &classes));
    assert_eq!(table.lowest(), Some(2));
    let overload = table.overload.as_ref().unwrap();
    assert_eq!((overload.target_ns, overload.when), (20_000_000, When::Always));
    assert_eq!(overload.shares, [1000, 500, 250], "each class half of the one above");
    let rate = |interval_ns, burst: u64| Rate { interval_ns, tolerance_ns: (burst - 1) * interval_ns };
    let rules: Vec<_> = table
        .rules
        .iter()
        .map(|rule| (rule.name.as_str(), rule.line, rule.action, rule.class, rule.refuse))
        .collect();
    let expected = [
        ("from-10.0.0.0/8", 7, RuleAction::Police(rate(3_333_333, 300)), Some(1), Refuse::Reset),
        (
            "from-2001:db8::/32-to-2001:db8:ffff::1/128",
            20,
            RuleAction::Police(rate(1_000, 1_000_000)),
            None,
            Refuse::Drop,
        ),
        ("request-/cgi-bin/*", 13, RuleAction::Police(rate(3_000_000_000, 1)), None, Refuse::Status429),
        ("request-/shop.html", 17, RuleAction::Pass, Some(0), Refuse::Status503),
        ("request-*noaccess*", 26, RuleAction::Refuse, None, Refuse::Reset),
        ("odd", 29, RuleAction::Police(rate(100_000_000, 10)), None, Refuse::Status503),
    ];
    assert_eq!(rules, expected);
    assert_eq!(table.rules[1].per, Some(Per { length: 64, rate: rate(400_000_000, 3) }));
    assert_eq!(table.exact, [(b"/shop.html".to_vec(), RuleId(3))]);
    assert_eq!(table.prefixes, [(b"/cgi-bin/".to_vec(), RuleId(2))]);
    assert_eq!(table.contains, [(b"noaccess".to_vec(), RuleId(4))]);
    assert_eq!(table.odd, Some(RuleId(5)));
    assert_eq!(table.sources.len(), 2);
    assert_eq!(table.digest.len(), 64);
}

#[test]
fn burst_and_rate_of_a_bucket_are_those_that_were_written() {
    for (rate, burst) in
        [("1/h", 1_000_000), ("20/min", 1), ("2.5/s", 3), ("7/s", 1), ("1000000/s", 1_000_000)]
    {
        let table =
            rules(&format!("[server]\nlisten = 1\n[odd]\nrate = \"{rate}\"\nburst = {burst}\n")).table;
        let RuleAction::Police(compiled) = table.rules[0].action else { panic!("{rate}") };
        assert_eq!((compiled.burst(), rate_in_words(compiled).as_str()), (burst, rate));
        assert!(compiled.tolerance_ns < 1 << 62);
    }
}

#[test]
fn the_example_of_the_documents_has_no_fault_and_is_explained_as_they_say() {
    let page = include_str!("../../../../../docs/layers/police.md");
    let (_, example) = page.split_once("\n### Rules\n\n").unwrap();
    let (example, _) = example.split_once("\n|").unwrap();
    let text: String =
        example.lines().map(|line| line.strip_prefix("    ").unwrap_or(line).to_owned() + "\n").collect();
    let rules = Rules::of_text(&text, "rules.toml").unwrap();
    assert_eq!(rules.warnings, []);
    for said in [
        format!("connection passes: {}\n", connection(&rules, "10.1.2.3".parse().unwrap(), None, 80).reason),
        format!("request passes: {}\n", request(&rules, "GET /%61 HTTP/1.1").reason),
    ] {
        assert!(page.contains(&said), "{said}");
    }
}
