//! Rules against made-up rows.

use super::*;

fn row(arm: &str, meter: &str, primary: bool, figures: Option<[f64; 3]>, verdict: Verdict) -> Comparison {
    let at = |index: usize| figures.map(|figures| figures[index]);
    Comparison {
        arm: arm.to_owned(),
        baseline: "http".to_owned(),
        meter: meter.to_owned(),
        primary,
        unit: if meter == "errors" { "share" } else { "ns" }.to_owned(),
        low: at(0),
        effect: at(1),
        high: at(2),
        rounds: 28,
        verdict,
        sentence: format!("{arm} {}", verdict.as_str()),
        ..Comparison::default()
    }
}

fn results() -> Results {
    let cost = "subject_cpu_per_request";
    Results {
        comparisons: vec![
            row("http'", cost, true, Some([0.5, 0.6, 0.7]), Verdict::NoVerdict),
            row("https", cost, true, Some([0.03, 0.05, 0.07]), Verdict::Costs),
            row("log", cost, true, Some([-0.02, 0.01, 0.04]), Verdict::NotResolved),
            row("limit", cost, true, Some([0.1, 0.2, 0.3]), Verdict::Invalid),
            row("young", cost, true, None, Verdict::NotResolved),
            row("https", "replies_per_second", false, Some([-0.2, -0.1, -0.06]), Verdict::Costs),
            row("https", "errors", false, Some([0.001, 0.002, 0.003]), Verdict::Costs),
        ],
        ..Results::default()
    }
}

fn ruled(rule: &str) -> Ruled {
    rule.parse::<Rule>().unwrap().judge(&results()).ruled
}

#[test]
fn a_rule_is_broken_by_the_end_that_breaks_it_last() {
    for (rule, expected) in [
        ("https: cost > 2%", Ruled::Broken),
        ("https: cost > 3%", Ruled::Open), // the low end is 3 %, not above it
        ("https: cost >= 3%", Ruled::Broken),
        ("https: cost > 7%", Ruled::Held),
        ("https: cost.low > 4%", Ruled::Held),
        ("https: cost.estimate > 4%", Ruled::Broken),
        ("https: cost.high > 6.9%", Ruled::Broken),
        ("https: subject_cpu_per_request > 2 %", Ruled::Broken),
        ("https: replies_per_second < -5%", Ruled::Broken),
        ("https: replies_per_second < -6.5%", Ruled::Open),
        ("https: replies_per_second <= -20%", Ruled::Open),
        ("https: replies_per_second < -20%", Ruled::Held),
        ("https: errors > 0.05%", Ruled::Broken),
        ("log: cost > 2%", Ruled::Open),
        ("log: cost > 4%", Ruled::Held),
    ] {
        assert_eq!(ruled(rule), expected, "{rule}");
    }
}

#[test]
fn what_must_not_be_used_is_not_judged() {
    for rule in [
        "limit: cost > 2%",
        "limit: verdict = costs",
        "limit: verdict != costs",
        "young: cost > 2%",
        "https: response_p99 > 5%",
    ] {
        assert_eq!(ruled(rule), Ruled::NotJudged, "{rule}");
    }
    assert_eq!(ruled("limit: verdict = invalid"), Ruled::Broken);
    let nothing = "cost > 2%".parse::<Rule>().unwrap().judge(&Results::default());
    assert_eq!(nothing.line, "cost > 2%: cannot be judged: no arm was compared");
}

#[test]
fn verdicts_are_words() {
    for (rule, expected) in [
        ("https: verdict = costs", Ruled::Broken),
        ("https: verdict == costs", Ruled::Broken),
        ("https: verdict=saves", Ruled::Held),
        ("https: verdict != costs", Ruled::Held),
        ("https: verdict != no-cost", Ruled::Broken),
        ("log: verdict = costs", Ruled::Open),
        ("log: verdict = not-resolved", Ruled::Broken),
        ("log: verdict != not-resolved", Ruled::Held),
    ] {
        assert_eq!(ruled(rule), expected, "{rule}");
    }
}

#[test]
fn without_an_arm_the_worst_counts_and_the_noise_floor_does_not() {
    let line = |rule: &str| rule.parse::<Rule>().unwrap().judge(&results()).line;
    assert_eq!(line(" cost > 2% "), "cost > 2%: BROKEN: https +5.00 % (CI +3.00..+7.00 %)");
    let held = line("verdict = saves");
    assert!(held.starts_with("verdict = saves: cannot be judged: limit limit invalid"), "{held}");
    assert_eq!(ruled("cost > 40%"), Ruled::NotJudged, "one arm is invalid, another too young");
}

#[test]
fn what_cannot_be_read_is_told_with_what_helps() {
    for (rule, word) in [
        ("", "compares nothing"),
        ("cost", "compares nothing"),
        ("cost = 2%", "`>`, `>=`, `<` or `<=`"),
        ("cots > 2%", "did you mean `cost`?"),
        ("response_p9 > 2%", "did you mean `response_p9"),
        ("price > 2%", "`bakeoff meters`"),
        ("cost > 2", "in percent, such as `2%`"),
        ("cost > 0.02x%", "`0.02x%` is no bound"),
        ("cost > inf%", "no bound"),
        ("verdict > costs", "`=` or `!=`"),
        ("verdict = cost", "did you mean `costs`?"),
    ] {
        let error = rule.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(word) && error.starts_with("the rule `"), "{rule}: {error}");
    }
    let rule: Rule = "htps: cost > 2%".parse().unwrap();
    let error = rule.fits(["http", "https"]).unwrap_err().to_string();
    assert!(error.contains("no arm `htps` is compared; did you mean `https`?"), "{error}");
    assert!(rule.fits(["htps"]).is_ok() && "cost > 1%".parse::<Rule>().unwrap().fits([]).is_ok());
}
