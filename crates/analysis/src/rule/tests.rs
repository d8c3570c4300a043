//! Rules against synthetic rows.

use super::*;
use std::collections::BTreeMap;

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
        order: ["http", "http'", "https", "limit"].map(str::to_owned).to_vec(),
        arms: [
            arm("http", [9e6, 10e6, 11e6], [0.0, 0.0, 0.0], None),
            arm("http'", [0.0; 3], [0.0; 3], None),
            arm("https", [18e6, 19e6, 21e6], [1e-300, 0.001, 0.004], None),
            arm("limit", [50e6, 60e6, 70e6], [0.2, 0.3, 0.4], Some("30 % of its requests failed")),
        ]
        .into(),
        ..Results::default()
    }
}

/// Response times and failures with their intervals.
fn arm(name: &str, p99: [f64; 3], errors: [f64; 3], invalid: Option<&str>) -> (String, ArmResult) {
    let of = |[low, value, high]: [f64; 3]| OwnFigure { value, low, high };
    let mut estimates: BTreeMap<String, OwnFigure> =
        [("response_p99", p99), ("errors", errors)].map(|(name, ends)| (name.to_owned(), of(ends))).into();
    if name.ends_with('\'') {
        estimates.clear();
    }
    let invalid = invalid.map(str::to_owned);
    (name.to_owned(), ArmResult { estimates, invalid, ..ArmResult::default() })
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
fn a_figure_itself_is_judged_by_the_same_end() {
    for (rule, expected) in [
        ("https: response_p99 > 17ms", Ruled::Broken),
        ("https: response_p99 > 20ms", Ruled::Open),
        ("https: response_p99 > 21ms", Ruled::Held),
        ("https: response_p99 < 20ms", Ruled::Open),
        ("https: response_p99.estimate < 20ms", Ruled::Broken),
        ("http: response_p99 > 5ms", Ruled::Broken), // a baseline has figures, too
        ("https: errors > 0", Ruled::Broken),
        ("http: errors > 0", Ruled::Held),
        ("https: errors > 0.002", Ruled::Open),
        ("limit: response_p99 > 1ms", Ruled::NotJudged),
        ("limit: errors > 0.1", Ruled::Broken), // it is invalid for just that
        ("https: memory > 1GB", Ruled::NotJudged),
        // With a sign it is a change, of which this run has none.
        ("https: response_p99 > +1ms", Ruled::NotJudged),
    ] {
        assert_eq!(ruled(rule), expected, "{rule}");
    }
    let line = |rule: &str| rule.parse::<Rule>().unwrap().judge(&results()).line;
    assert_eq!(
        line("response_p99 > 5ms"),
        "response_p99 > 5ms: BROKEN: http 10.0 ms (CI 9.0..11.0 ms); https 19.0 ms (CI 18.0..21.0 ms)"
    );
    assert_eq!(line("limit: errors > 0.1"), "limit: errors > 0.1: BROKEN: limit 30.0 % (CI 20.0..40.0 %)");
    let rule: Rule = "htp: errors > 0".parse().unwrap();
    let error = rule.fits(&["https"], &["http"]).unwrap_err().to_string();
    assert!(error.contains("no arm `htp` is measured; did you mean `http`?"), "{error}");
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
        ("response_p99 > 20", "response_p99 itself is compared with a time such as `20ms`"),
        ("errors > 5ms", "a share from 0 to 1"),
        ("replies_per_second < 100ms", "a rate such as `1000/s`"),
        ("cost > 0.02x%", "`0.02x%` is no bound"),
        ("cost > inf%", "no bound"),
        ("verdict > costs", "`=` or `!=`"),
        ("verdict = cost", "did you mean `costs`?"),
    ] {
        let error = rule.parse::<Rule>().unwrap_err().to_string();
        assert!(error.contains(word) && error.starts_with("the rule `"), "{rule}: {error}");
    }
    let rule: Rule = "htps: cost > 2%".parse().unwrap();
    let error = rule.fits(&["https"], &["http"]).unwrap_err().to_string();
    assert!(error.contains("no arm `htps` is compared; did you mean `https`?"), "{error}");
    assert!(rule.fits(&["htps"], &[]).is_ok() && "cost > 1%".parse::<Rule>().unwrap().fits(&[], &[]).is_ok());
}

#[test]
fn a_cost_at_another_load_is_judged_by_its_own_row() {
    let load = |name: &str, rate| bakeoff_results::LoadSetup {
        name: name.to_owned(),
        rate_per_s: rate,
        ..Default::default()
    };
    let mut run = results();
    run.design.loads = vec![load("50%", 2500.0), load("90%", 4500.0)];
    let at = |place, low, words: &str| Comparison {
        load: place,
        at: words.to_owned(),
        ..row("https", "subject_cpu_per_request", false, Some([low, low + 0.01, low + 0.02]), Verdict::Costs)
    };
    for found in run.comparisons.iter_mut().filter(|row| row.primary) {
        found.load = Some(0);
    }
    run.comparisons.push(at(Some(1), 0.2, "4500/s"));
    run.comparisons.push(at(None, 0.4, "full speed"));
    let judged = |text: &str| text.parse::<Rule>().unwrap().judge(&run);
    for (rule, expected) in [
        ("https: cost > 2%", Ruled::Broken),
        ("https: cost@50% > 4%", Ruled::Open),
        ("https: cost@90% > 10%", Ruled::Broken),
        ("https: cost@4500/s > 10%", Ruled::Broken),
        ("https: cost.high@90% > 30%", Ruled::Held),
        ("https: cost@full > 30%", Ruled::Broken),
        ("https: cost@70% > 30%", Ruled::NotJudged),
    ] {
        assert_eq!(judged(rule).ruled, expected, "{rule}: {}", judged(rule).line);
    }
    assert!(judged("https: cost@90% > 10%").line.ends_with("at 4500/s"));
    assert!(judged("https: cost@70% > 1%").line.contains("its loads are 50%, 90%, and `full`"));
    let why = "response_p99@90% > 1ms".parse::<Rule>().unwrap_err().to_string();
    assert!(why.contains("`@90%` belongs to `cost`"), "{why}");
    let one = "cost@90% > 1%".parse::<Rule>().unwrap().judge(&results());
    assert!(one.ruled == Ruled::NotJudged && one.line.contains("the run has one load"), "{}", one.line);
}
