//! Changes of objects, and the dates that they show.

use super::{about, mean, model, name, objects};
use crate::world::Object;
use proptest::prelude::*;

const NOW: u64 = 1_800_000_000;

fn lives(life: &str, n: u64) -> Vec<Object> {
    objects(&model(&format!("size = \"const:1KB\"\nlife = {{ {life} }}")), 0, n)
}

#[test]
fn without_variance_an_object_changes_once_a_cycle() {
    for object in lives("length = \"const:1hour\", expires = \"nmt+0s\"", 100) {
        let first = object.at(NOW);
        let mut version = first;
        for _ in 0..10 {
            let modified = version.last_modified.unwrap();
            // Changes are at whole seconds, as dates are: a birth between two is rounded down.
            assert_eq!(version.next_change - modified, 3_600);
            assert_eq!(version.expires, Some(version.next_change));
            assert_eq!(object.at(modified), version);
            assert_eq!(object.at(version.next_change - 1), version);
            let next = object.at(version.next_change);
            assert_eq!(next.last_modified, Some(version.next_change));
            assert_eq!(next.number, version.number + 1);
            assert_ne!(next.etag, version.etag);
            version = next;
        }
    }
}

/// Ages at one moment are spread evenly over the cycle: mean 1800 s, deviation 3600 / sqrt(12).
#[test]
fn births_are_spread_evenly_over_the_cycle() {
    let ages: Vec<f64> = lives("length = \"const:1hour\"", 10_000)
        .iter()
        .map(|object| (NOW - object.at(NOW).last_modified.unwrap()) as f64)
        .collect();
    let (mean, error) = mean(&ages);
    assert!((mean - 1_799.5).abs() < 4.0 * error && (error - 10.39).abs() < 0.3, "{mean} +- {error}");
    assert!(ages.iter().all(|age| *age < 3_600.0));
}

/// With 50 % a change is up to a quarter of the cycle early or late, so 900 s of 3600.
#[test]
fn changes_drift_within_the_variance_and_the_cycle_is_kept() {
    let mut drifts = Vec::new();
    for object in lives("length = \"const:1hour\", variance = \"50%\"", 50) {
        let mut version = object.at(NOW);
        let first = version.last_modified.unwrap() as f64;
        for cycles in 1..=200 {
            let modified = version.next_change;
            let drift = modified as f64 - first - 3_600.0 * f64::from(cycles);
            assert!(drift.abs() <= 1_801.0, "both ends drift: {drift}");
            drifts.push(drift);
            version = object.at(modified);
        }
    }
    let (_, error) = mean(&drifts);
    // Two ends, each even over 1800 s: deviation 1800 / sqrt(6). First ends are only 50, so this is wide.
    let deviation = error * (drifts.len() as f64).sqrt();
    assert!((deviation / 734.8 - 1.0).abs() < 0.2, "{deviation}");
}

#[test]
fn what_may_not_be_cached_changes_but_shows_no_dates() {
    let none = model(
        "size = \"const:1KB\"\ncachable = \"0%\"\nlife = { length = \"const:1day\", expires = \"now+1hour\" }",
    );
    let object = none.object(&name(0, 1)).unwrap();
    let version = object.at(NOW);
    assert_eq!((object.cachable, version.last_modified, version.expires), (false, None, None));
    let later = object.at(version.next_change);
    assert!(later.number == version.number + 1 && later.etag != version.etag);
}

#[test]
fn an_object_without_life_is_for_ever() {
    let object = model("size = \"const:1KB\"").object(&name(0, 1)).unwrap();
    let version = object.at(0);
    assert_eq!((version.last_modified, version.expires, version.next_change), (None, None, u64::MAX));
    assert_eq!(object.at(u64::MAX), version);
}

#[test]
fn last_modified_is_shown_by_its_share_of_objects_and_by_them_always() {
    let objects = lives("length = \"const:1day\", last_modified = \"30%\"", 20_000);
    let shows = |object: &&Object| object.at(NOW).last_modified.is_some();
    assert!(about(objects.iter().filter(shows).count(), objects.len(), 0.3));
    assert!(
        objects.iter().take(1_000).all(|o| {
            o.at(NOW).last_modified.is_some() == o.at(NOW + 10 * 86_400).last_modified.is_some()
        })
    );
    assert!(objects.iter().all(|object| object.at(NOW).expires.is_none()), "no Expires was asked for");
}

#[test]
fn expires_counts_from_the_moment_that_its_entry_names() {
    let expires = |entry: &str| {
        let object = lives(&format!("length = \"const:1day\", expires = \"{entry}\""), 1)[0];
        let version = object.at(NOW);
        (version.expires.unwrap(), version.last_modified.unwrap(), version.next_change)
    };
    let (expires_at, modified, _) = expires("lmt+1hour");
    assert_eq!(expires_at, modified + 3_600);
    let (expires_at, _, next) = expires("nmt-1min");
    assert_eq!(expires_at, next - 60);
    assert_eq!(expires("now+10s").0, NOW + 10);
    assert_eq!(expires("now+const:10s").0, NOW + 10);
    assert_eq!(expires("now-100year").0, 0, "before 1970 is 1970");
    let spread = lives("length = \"const:1day\", expires = \"now+unif:0, 100s\"", 1_000);
    let offsets: Vec<f64> = spread.iter().map(|o| (o.at(NOW).expires.unwrap() - NOW) as f64).collect();
    let (mean, error) = mean(&offsets);
    assert!((mean - 50.0).abs() < 4.0 * error && offsets.iter().all(|x| *x <= 100.0), "{mean} +- {error}");
}

#[test]
fn only_what_counts_from_now_moves_and_each_object_has_an_entry_of_its_own() {
    let entries = "expires = [\"now+10s 50%\", \"nmt+0s 25%\", \"lmt+1day\"]";
    let objects = lives(&format!("length = \"const:1day\", {entries}"), 1_000);
    for object in &objects {
        let version = object.at(NOW);
        // Between two changes: the first second and the last have the same Expires, or not.
        let [first, last] = [version.last_modified.unwrap(), version.next_change - 1];
        let moved = object.at(first).expires != object.at(last).expires;
        assert_eq!(object.expires_moves(), moved);
    }
    assert!(about(objects.iter().filter(|object| object.expires_moves()).count(), objects.len(), 0.5));
}

#[test]
fn of_several_entries_each_holds_for_its_share() {
    let objects =
        lives("length = \"const:1day\", expires = [\"now+10s 30%\", \"now+20s\", \"now+30s 60%\"]", 20_000);
    for (offset, share) in [(10, 0.3), (20, 0.1), (30, 0.6)] {
        let hits = objects.iter().filter(|object| object.at(NOW).expires == Some(NOW + offset)).count();
        assert!(about(hits, objects.len(), share), "{offset}: {hits}");
    }
}

proptest! {
    #[test]
    fn at_any_moment_there_is_one_version_and_it_is_not_over(
        number: u64,
        now in prop_oneof![0..100_u64, NOW..NOW + 1_000_000_000, Just(1 << 47)],
        length in prop_oneof![Just("const:0s"), Just("const:1s"), Just("exp:3s"), Just("logn:7day,1day"), Just("const:10000year")],
        variance in 0..=100_u32,
    ) {
        let life = format!("size = \"const:1B\"\nlife = {{ length = \"{length}\", variance = \"{variance}%\" }}");
        let object = model(&life).object(&name(0, number)).unwrap();
        let version = object.at(now);
        let modified = version.last_modified.unwrap();
        prop_assert!(modified <= now && now < version.next_change);
        prop_assert_eq!(object.at(version.next_change - 1), version);
        prop_assert_eq!(object.at(modified.max(u64::from(modified > 0))), version);
        let next = object.at(version.next_change);
        prop_assert!(next.last_modified == Some(version.next_change) && next.number > version.number);
        let _ = object.at(u64::MAX);
    }
}
