//! Due times of requests: no event moves the planned moments.

use super::stage::*;
use crate::population::{Flight, Setting, Worker};
use bakeoff_units::Nanos;

#[test]
fn poisson_arrivals_have_their_rate_and_spread() {
    let spec = spec("rate = '250/s'\nrecurrence = '50%'", &lasting(400));
    let run = run(&mut population(POLYMIX_1, spec, setting()), usize::MAX, at_once);
    // 100,000 expected, standard deviation 316.
    assert!(run.seen.len().abs_diff(100_000) < 950, "{}", run.seen.len());
    let dues: Vec<f64> = run.seen.iter().map(|seen| seen.flight.due.as_secs_f64()).collect();
    let gaps: Vec<f64> = dues.windows(2).map(|pair| (pair[1] - pair[0]) * 250.0).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0).abs() < 0.03, "{mean} {variance}");
}

#[test]
fn const_gaps_are_equal_and_workers_take_turns() {
    let robots = "rate = '100/s'\ninter_arrival = 'const'";
    let dues = |worker| {
        let setting = Setting { worker, ..setting() };
        let run = run(&mut population(POLYMIX_1, spec(robots, &lasting(1)), setting), usize::MAX, at_once);
        run.seen.iter().map(|seen| seen.flight.due.get() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(dues(Worker::ONLY), (10..1000).step_by(10).collect::<Vec<_>>());
    assert_eq!(dues(Worker::new(0, 2).unwrap()), (10..1000).step_by(20).collect::<Vec<_>>());
    assert_eq!(dues(Worker::new(1, 2).unwrap()), (20..1000).step_by(20).collect::<Vec<_>>());
}

/// Uniform from 0 to twice the mean: no gap is longer, the mean is the rate's and the variance a third of its square.
#[test]
fn drawn_gaps_have_their_shape_and_the_rates_mean() {
    let robots = "rate = '1000/s'\ninter_arrival = 'unif:0s,7s'";
    let run =
        run(&mut population(POLYMIX_1, spec(robots, &requests(50_000)), setting()), usize::MAX, at_once);
    let dues: Vec<f64> = run.seen.iter().map(|seen| seen.flight.due.as_secs_f64() * 1000.0).collect();
    let gaps: Vec<f64> = dues.windows(2).map(|two| two[1] - two[0]).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!(gaps.iter().all(|gap| *gap < 2.0001), "none is longer than twice the mean");
    assert!((mean - 1.0).abs() < 0.01 && (variance - 1.0 / 3.0).abs() < 0.01, "{mean} {variance}");
}

#[test]
fn a_ramp_asks_for_its_integral() {
    let ramps = "
        [[phase]]\nname = 'up'\ngoal = { duration = '100s' }\nload = { begin = '0%', end = '100%' }
        [[phase]]\nname = 'top'\ngoal = { duration = '20s' }
        [[phase]]\nname = 'down'\ngoal = { duration = '100s' }\nload = { end = '0%' }\npopulation = { end = '0%' }
        [[phase]]\nname = 'rest'\ngoal = { duration = '10s' }
        [[phase]]\nname = 'again'\ngoal = { duration = '10s' }\nload = { begin = '50%' }\npopulation = { begin = '100%' }";
    let mut population = population(POLYMIX_1, spec("rate = '1000/s'", ramps), setting());
    let run = run(&mut population, usize::MAX, at_once);
    let mut counts = [0_f64; 5];
    run.seen.iter().for_each(|seen| counts[seen.flight.phase] += 1.0);
    // Two factors that fall together: the square of a line integrates to a third.
    for (got, expected) in counts.into_iter().zip([50_000.0, 20_000.0, 100_000.0 / 3.0, 0.0, 5_000.0]) {
        assert!((got - expected).abs() <= 3.0 * f64::sqrt(expected), "{counts:?}");
    }
    // The ramp is straight: the first half of the way up has a quarter of its requests.
    let early = run.seen.iter().filter(|seen| seen.flight.due < Nanos::from_secs(50)).count() as f64;
    assert!((early - 12_500.0).abs() < 3.0 * 112.0, "{early}");
    assert!(population.is_over() && population.schedule().ended().len() == 5);
}

/// Requests in the order in which they were made.
fn asked(seen: &[Seen]) -> Vec<(Nanos, String, String)> {
    let words = |seen: &Seen| (seen.flight.due, seen.target.clone(), seen.headers.clone());
    seen.iter().map(words).collect()
}

#[test]
fn slow_replies_change_neither_what_is_asked_nor_when() {
    let robots = "rate = '100/s'\nrecurrence = '68.75%'\nspecial = { ims200 = '5%', ims304 = '10%' }";
    let run = |latency: fn(&Flight) -> (Nanos, bool)| {
        let mut population = population(POLYMIX_1, spec(robots, &lasting(100)), setting());
        run(&mut population, usize::MAX, latency)
    };
    let (fast, slow) =
        (run(at_once), run(|flight| (Nanos::from_secs(flight.stamp % 40), flight.stamp % 3 > 0)));
    assert!(fast.seen.len() > 9_000 && slow.most_in_flight > 1_000);
    assert_eq!(asked(&fast.seen), asked(&slow.seen));
}

#[test]
fn the_nth_page_is_the_same_whatever_its_images_do() {
    let robots =
        "rate = '400/s'\nrecurrence = '68.75%'\nspecial = { reload = '5%', head = '1%' }\nservers = 10";
    let pages = |latency: fn(&Flight) -> (Nanos, bool)| {
        let mut population = population(POLYMIX_4, spec(robots, &lasting(60)), setting());
        let run = run(&mut population, usize::MAX, latency);
        let direct = run.seen.into_iter().filter(|seen| !seen.flight.embedded);
        direct.map(|seen| (seen.target, seen.headers)).collect::<Vec<_>>()
    };
    let (fast, slow) = (pages(at_once), pages(|flight| (Nanos::from_millis(flight.stamp % 5_000), true)));
    let both = fast.len().min(slow.len());
    assert!(both > 7_000);
    assert_eq!(fast[..both], slow[..both]);
}

#[test]
fn another_seed_asks_otherwise_and_another_world_for_other_urls() {
    let robots = "rate = '100/s'\nrecurrence = '50%'";
    let run = |setting: Setting| {
        let mut population = population(POLYMIX_1, spec(robots, &lasting(20)), setting);
        asked(&run(&mut population, usize::MAX, at_once).seen)
    };
    let base = run(setting());
    assert_eq!(base, run(setting()));
    let (seed, world) = (run(Setting { seed: 1, ..setting() }), run(Setting { world: 1, ..setting() }));
    assert_ne!(base[0].0, seed[0].0);
    let dues = |asked: &[(Nanos, String, String)]| asked.iter().map(|asked| asked.0).collect::<Vec<_>>();
    assert_eq!(dues(&base), dues(&world));
    assert!(base.iter().zip(&world).all(|(one, other)| one.1 != other.1 && one.2 != other.2));
}

#[test]
fn embedded_objects_are_due_with_their_page_and_take_the_place_of_pages() {
    let mut population = population(POLYMIX_4, spec("rate = '50/s'", &lasting(200)), setting());
    let run = run(&mut population, usize::MAX, |_| (Nanos::from_millis(700), true));
    assert!((run.seen.len() as f64 / 200.0 - 50.0).abs() < 2.5, "{}", run.seen.len());
    for (page, done) in &run.pages {
        let takes = if page.objects > 1 { 1_400 } else { 700 };
        assert_eq!(done.since(page.begun), Nanos::from_millis(takes));
    }
}

#[test]
fn a_phase_that_ends_early_changes_the_rate_at_once() {
    let phases = "
        [[phase]]\nname = 'idle'\ngoal = { transactions = 5 }\nload = { begin = '1%' }
        [[phase]]\nname = 'top'\ngoal = { duration = '10s' }\nload = { begin = '100%' }";
    let mut population = population(POLYMIX_1, spec("rate = '100/s'", phases), setting());
    let run = run(&mut population, usize::MAX, at_once);
    let began = population.schedule().ended()[0].ended;
    let top: Vec<Nanos> = run.seen.iter().map(|seen| seen.flight.due).filter(|due| *due > began).collect();
    // At 1/s the next page would be a second away on average; at 100/s it comes within the first tenth.
    assert!(top[0].since(began) < Nanos::from_millis(100), "{}", top[0].since(began));
    assert!(top.len().abs_diff(1000) < 100, "{}", top.len());
}

#[test]
fn workers_together_are_one_population() {
    let robots = "rate = '200/s'\nrecurrence = '50%'";
    let mut names = std::collections::HashSet::new();
    let mut all = 0;
    for index in 0..2 {
        let setting = Setting { worker: Worker::new(index, 2).unwrap(), ..setting() };
        let mut population = population(POLYMIX_1, spec(robots, &lasting(100)), setting);
        let run = run(&mut population, usize::MAX, at_once);
        all += run.seen.len();
        let fresh = run.seen.iter().filter(|seen| !seen.flight.repeat);
        assert!(fresh.into_iter().all(|seen| names.insert(seen.flight.name)));
    }
    assert!(all.abs_diff(20_000) < 424, "{all}: 20,000 expected, standard deviation 141");
}
