//! Tests of distributions: cases whose answer is known.

use super::*;
use proptest::prelude::*;

fn seconds(text: &str) -> Distribution {
    Distribution::parse_seconds(text).unwrap()
}

/// Mean and its standard error of draws that are clipped at zero.
fn sample(of: &Distribution, n: u32) -> (f64, f64) {
    let mut random = SplitMix64::new(7);
    let draws: Vec<f64> = (0..n).map(|_| of.draw(&mut random).max(0.0)).collect();
    let n = f64::from(n);
    let mean = draws.iter().sum::<f64>() / n;
    let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
    (mean, (variance / n).sqrt())
}

#[test]
fn units_are_those_of_the_field() {
    let bytes = |text: &str| Distribution::parse_bytes(&format!("const:{text}")).unwrap().mean();
    assert_eq!([bytes("7B"), bytes("13KB"), bytes("1MB")], [7.0, 13_312.0, 1_048_576.0]);
    assert_eq!([bytes("5GB"), bytes("1TB"), bytes("0")], [5_368_709_120.0, 1_099_511_627_776.0, 0.0]);
    assert_eq!([bytes("13KiB"), bytes("0.5 KB")], [13_312.0, 512.0]);
    let secs = |text: &str| seconds(&format!("const:{text}")).mean();
    assert_eq!([secs("300ms"), secs("300msec"), secs("1.5s"), secs("2sec")], [0.3, 0.3, 1.5, 2.0]);
    assert_eq!(
        [secs("3min"), secs("1hr"), secs("1hour"), secs("7day")],
        [180.0, 3_600.0, 3_600.0, 604_800.0]
    );
    assert_eq!(secs("2year"), 63_115_200.0);
    assert_eq!(Distribution::parse_count("const:0.25").unwrap().mean(), 0.25);
}

/// PolyMix-1's think time: 3 P(2) + 1.5 p(2), P(2) = 0.977249868051821, p(2) = 0.053990966513188.
#[test]
fn the_normal_mean_counts_what_is_below_zero_as_zero() {
    assert!((seconds("norm:3s,1.5s").mean() - 3.012_736_053_925_244).abs() < 1e-12);
    assert!((seconds("norm:2.5s,1s").mean() - 2.502_004_137_179_129).abs() < 1e-12);
    let half = (1.0 / std::f64::consts::TAU).sqrt();
    assert!((seconds("norm:0s,1s").mean() - half).abs() < 1e-15, "half of the mean of |x|");
    assert_eq!(seconds("norm:3s,0s").mean(), 3.0);
    assert_eq!(seconds("norm:1day,1s").mean(), 86_400.0);
}

/// Zipf over 3: 1, 2, 3 with ln 2, ln 1.5, ln 4/3 over ln 4, so the mean is (ln 2 + 2 ln 1.5 + 3 ln 4/3) / ln 4.
#[test]
fn the_zipf_mean_is_the_sum_over_its_ranks() {
    let mean = |n: u64| Distribution::parse_count(&format!("zipf:{n}")).unwrap().mean();
    for n in [1_u64, 2, 3, 13, 20, 21, 64, 5_000] {
        let chance = |k: f64| ((k + 1.0) / k).ln() / (n as f64 + 1.0).ln();
        let sum: f64 = (1..=n).map(|k| k as f64 * chance(k as f64)).sum();
        assert!((mean(n) - sum).abs() < 1e-9 * sum, "{n}: {} {sum}", mean(n));
    }
    assert!((mean(1) - 1.0).abs() < 1e-15);
}

#[test]
fn draws_have_the_mean_that_is_stated() {
    for text in [
        "const:3s",
        "unif:1s,3s",
        "exp:2s",
        "norm:3s,1.5s",
        "norm:1s,2s",
        "logn:3s,1s",
        "logn:30day,7day",
        "zipf:13",
        "table:5x1s,95x13s,0x7s",
    ] {
        let distribution = seconds(text);
        let (mean, error) = sample(&distribution, 200_000);
        let off = (mean - distribution.mean()).abs();
        assert!(
            off <= 4.0 * error + 1e-9 * mean,
            "{text}: {mean} +- {error}, stated {}",
            distribution.mean()
        );
    }
}

/// The deviation of a deviation s over n draws is about s / sqrt(2 n) for the normal: 0.16 % here.
#[test]
fn normal_and_log_normal_draws_have_the_deviation_that_is_asked_for() {
    for (text, deviation) in [("norm:30s,1.5s", 1.5), ("logn:30s,7s", 7.0)] {
        let (_, error) = sample(&seconds(text), 200_000);
        let drawn = error * 200_000_f64.sqrt();
        assert!((drawn / deviation - 1.0).abs() < 0.012, "{text}: {drawn}");
    }
}

#[test]
fn zipf_draws_each_rank_with_its_chance() {
    let zipf = Distribution::parse_count("zipf:4").unwrap();
    let (mut random, n) = (SplitMix64::new(1), 100_000_u32);
    let mut counts = [0_u32; 6];
    for _ in 0..n {
        counts[zipf.draw(&mut random) as usize] += 1;
    }
    assert_eq!((counts[0], counts[5]), (0, 0));
    for k in 1..=4_usize {
        let chance = ((k as f64 + 1.0) / k as f64).ln() / 5_f64.ln();
        let error = (chance * (1.0 - chance) / f64::from(n)).sqrt();
        assert!((f64::from(counts[k]) / f64::from(n) - chance).abs() < 4.0 * error, "{k}: {counts:?}");
    }
}

#[test]
fn a_table_draws_its_values_by_weight_and_never_those_of_weight_zero() {
    let table = Distribution::parse_bytes("table:0x9B,1x1KB,3x2KB,0x8B").unwrap();
    let mut random = SplitMix64::new(1);
    let draws: Vec<f64> = (0..40_000).map(|_| table.draw(&mut random)).collect();
    let small = draws.iter().filter(|x| **x == 1_024.0).count();
    assert!(draws.iter().all(|x| [1_024.0, 2_048.0].contains(x)));
    assert!((9_650..10_350).contains(&small), "a quarter, within 4 errors of 87: {small}");
}

#[test]
fn errors_say_what_was_typed_and_what_is_allowed() {
    let bytes = |text: &str| Distribution::parse_bytes(text).unwrap_err().to_string();
    let forms = format!("is no distribution; allowed are {FORMS}");
    for text in ["", "13KB", "seq:1", "exp", "exp:1KB,2KB", "norm:1KB", "zipf:1,2", "Exp:1KB"] {
        assert_eq!(bytes(text), format!("`{text}` {forms}"));
    }
    for text in ["13", "13kb", "-1KB", "infKB", "nanKB", "1e3KB", "", ".KB", "1.2.3KB", "13s", "KB"] {
        let error = bytes(&format!("const:{text}"));
        assert!(error.starts_with(&format!("`{text}` is not a size such as 500B, 13KB")), "{error}");
    }
    let huge = format!("const:{}KB", "9".repeat(400));
    assert!(bytes(&huge).contains("is not a size"), "beyond an f64");
    assert!(bytes("const:999999999TB").contains("is not a size"), "beyond an exabyte");
    assert!(Distribution::parse_seconds("exp:3KB").unwrap_err().to_string().contains("a time such as 3s"));
    assert_eq!(bytes("unif:2KB,1KB"), "`unif:2KB,1KB`: the first value must not be above the second");
    assert_eq!(
        bytes("logn:0B,1B"),
        "`logn:0B,1B`: the mean must be above zero, and the deviation below 1000000000 times as much"
    );
    assert!(bytes("logn:0.0000000001B,1B").contains("the deviation below"));
    assert_eq!(bytes("table:0x1KB"), "`table:0x1KB`: one of the weights must be above zero");
    assert_eq!(bytes("table:1KB"), "`1KB` is not a weight, x, a value");
    for text in ["zipf:0", "zipf:1.5", "zipf:-1", "zipf:99999999999999999"] {
        assert!(bytes(text).ends_with("is not a whole number from 1 on"), "{text}");
    }
}

#[test]
fn what_is_printed_is_read_as_the_same() {
    for text in
        [" exp:13KB ", "unif:0,8KB", "norm:3KB, 1.5KB", "zipf:13", "table:5x1KB,95x13KB", "logn:1MB,0.3MB"]
    {
        let distribution = Distribution::parse_bytes(text).unwrap();
        assert_eq!(Distribution::parse_bytes(&distribution.to_string()).unwrap(), distribution);
        assert_eq!(distribution.to_string(), text.trim());
    }
    assert_eq!(Distribution::parse_bytes("const:1KB"), Distribution::parse_bytes("const:1024B"));
    assert_ne!(Distribution::parse_bytes("const:1KB"), Distribution::parse_bytes("const:1000B"));
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_and_no_draw_is_nan(text in "(const|unif|exp|norm|logn|zipf|table)?:?[0-9.]{0,4}(x|KB|s|,)?[ -~é]{0,6}") {
        for parsed in [
            Distribution::parse_bytes(&text), Distribution::parse_seconds(&text), Distribution::parse_count(&text),
        ].into_iter().flatten() {
            let mut random = SplitMix64::new(1);
            prop_assert!((0..10).all(|_| !parsed.draw(&mut random).is_nan()) && !parsed.mean().is_nan());
        }
    }
}
