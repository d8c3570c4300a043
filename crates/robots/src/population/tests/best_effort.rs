//! Robots without a rate: as fast as replies come.

use super::stage::*;
use crate::phases::{EndReason, FillGate};
use crate::population::{Setting, TargetForm};
use bakeoff_units::Nanos;
use bakeoff_workload::Source;

#[test]
fn each_robot_has_one_page_at_a_time() {
    let mut population =
        population(POLYMIX_1, spec("robots = 5\nrecurrence = '5%'", &lasting(10)), setting());
    let run = run(&mut population, usize::MAX, |_| (Nanos::from_millis(100), true));
    assert_eq!((run.seen.len(), run.most_in_flight), (500, 5));
    for robot in 0..5 {
        let dues = run.seen.iter().filter(|seen| seen.robot == robot).map(|seen| seen.flight.due);
        assert!(dues.eq((0..100).map(|n| Nanos::from_millis(100 * n))));
    }
}

#[test]
fn a_robot_waits_for_all_that_its_page_embeds() {
    let mut population = population(POLYMIX_4, spec("robots = 1", &requests(500)), setting());
    let run = run(&mut population, usize::MAX, |_| (Nanos::from_millis(10), true));
    let mut end = Nanos::ZERO;
    for (page, done) in &run.pages {
        assert_eq!(page.begun, end);
        let takes = if page.objects > 1 { 20 } else { 10 };
        assert_eq!(*done, end + Nanos::from_millis(takes));
        end = *done;
    }
    assert!(run.pages.iter().any(|(page, _)| page.objects > 5));
}

#[test]
fn phases_say_how_many_work() {
    let phases = "
        [[phase]]\nname = 'up'\ngoal = { duration = '10s' }\npopulation = { begin = '0%', end = '100%' }
        [[phase]]\nname = 'half'\ngoal = { duration = '10s' }\nload = { begin = '50%' }
        [[phase]]\nname = 'none'\ngoal = { duration = '10s' }\nload = { begin = '0%' }
        [[phase]]\nname = 'all'\ngoal = { duration = '10s' }\nload = { begin = '100%' }";
    let mut population = population(POLYMIX_1, spec("robots = 10", phases), setting());
    let run = run(&mut population, usize::MAX, |_| (Nanos::from_millis(100), true));
    let count = |from: u64, to: u64| {
        let within = Nanos::from_secs(from)..Nanos::from_secs(to);
        run.seen.iter().filter(|seen| within.contains(&seen.flight.due)).count()
    };
    // One more robot every second: 10 + 20 + ... + 100 pages, give or take one for each robot.
    assert!(count(0, 10).abs_diff(550) <= 10, "{}", count(0, 10));
    assert!(count(10, 20).abs_diff(500) <= 5, "{}", count(10, 20));
    assert_eq!((count(20, 30), count(30, 40)), (0, 1000));
}

#[test]
fn a_fill_goes_on_until_it_is_told_or_has_its_bytes() {
    let gate = FillGate::new();
    let fill = "
        [[phase]]\nname = 'fill'\nlock = { until = ['told'], at_most = '1h' }\nmeasured = false
        [[phase]]\nname = 'meas'\ngoal = { fill = '1300KB' }";
    let setting = Setting { gate: gate.clone(), ..setting() };
    let mut population = population(POLYMIX_1, spec("robots = 2", fill), setting);
    let mut asked = 0;
    let run = run(&mut population, usize::MAX, |_| {
        asked += 1;
        if asked == 1000 {
            gate.open();
        }
        (Nanos::from_millis(1), true)
    });
    let ended = population.schedule().ended();
    assert_eq!((ended[0].why, ended[1].why), (EndReason::Told, EndReason::Fill));
    let last = run.seen.iter().filter(|seen| seen.flight.phase == 1).count();
    // 13 KB each, four of five may be cached: about 122 requests.
    assert!((60..250).contains(&last), "{last}");
}

#[test]
fn a_robot_rests_after_a_failure_and_too_many_end_the_test() {
    let phase = "[[phase]]\nname = 'only'\ngoal = { duration = '10s', errors = 50 }";
    let mut population = population(POLYMIX_1, spec("robots = 1", phase), setting());
    let run = run(&mut population, usize::MAX, |_| (Nanos::ZERO, false));
    assert_eq!(run.seen.len(), 50);
    assert_eq!(run.seen[49].flight.due, Nanos::from_millis(490));
    assert_eq!(population.schedule().ended()[0].why, EndReason::TooManyErrors);
    assert!(population.next(0).is_none() && population.upcoming(0).is_none());
}

#[test]
fn a_robot_that_rests_holds_no_other_back() {
    let mut population = population(POLYMIX_1, spec("robots = 2", &lasting(1)), setting());
    let mut first = true;
    let run = run(&mut population, usize::MAX, |_| (Nanos::from_millis(1), !std::mem::take(&mut first)));
    // One asks every millisecond; the other's first page fails, and it rests ten milliseconds from then on.
    let dues = |robot| run.seen.iter().filter(move |seen| seen.robot == robot).map(|seen| seen.flight.due);
    let failed = run.seen[0].robot;
    assert!(dues(1 - failed).eq((0..1000).map(Nanos::from_millis)));
    assert!(dues(failed).eq([0].into_iter().chain(11..1000).map(Nanos::from_millis)));
}

#[test]
fn a_working_set_that_freezes_lets_a_phase_end() {
    let phases = "
        [[phase]]\nname = 'fill'\nlock = { until = ['frozen'], at_most = '1h' }
        [[phase]]\nname = 'top'\ngoal = { transactions = 2000 }";
    let robots = "robots = 1\nrecurrence = '50%'\nworking_set = { objects = 400 }";
    let setting = Setting { form: TargetForm::Absolute("127.0.0.1:81".to_owned()), ..setting() };
    let mut population = population(POLYMIX_1, spec(robots, phases), setting);
    let run = run(&mut population, usize::MAX, |_| (Nanos::from_millis(1), true));
    assert_eq!(population.schedule().ended()[0].why, EndReason::Frozen);
    let (made, kept) = population.working_set().size();
    assert!(made > kept, "{made} {kept}");
    let first = run.seen.iter().filter(|seen| seen.flight.phase == 0 && !seen.flight.repeat).count() as u64;
    assert!(first.abs_diff(kept) <= 1, "{first} {kept}");
}

const IDLE_AND_LOCKED: &str = "
    [[phase]]\nname = 'top'\ngoal = { duration = '10s' }
    [[phase]]\nname = 'idle'\nload = { begin = '0%' }\nlock = { until = ['LOCK'], at_most = '1h' }";

/// The end of the last of two phases, in which there is no request.
fn end_of_the_idle_phase(lock: &str, robots: &str, gate: &FillGate) -> (Nanos, EndReason) {
    let setting = Setting { gate: gate.clone(), ..setting() };
    let phases = IDLE_AND_LOCKED.replace("LOCK", lock);
    let mut population = population(POLYMIX_1, spec(robots, &phases), setting);
    run(&mut population, usize::MAX, |_| (Nanos::from_millis(100), true));
    assert!(population.is_over());
    let last = population.schedule().ended()[1];
    (last.ended, last.why)
}

#[test]
fn an_idle_last_phase_ends_when_its_lock_opens_or_after_its_longest_time() {
    let robots = |length| format!("robots = 1\nworking_set = {{ length = '{length}' }}");
    let (closed, open) = (FillGate::new(), FillGate::new());
    open.open();
    let late = (Nanos::from_secs(3610), EndReason::TookTooLong);
    let frozen = (Nanos::from_secs(60), EndReason::Frozen);
    assert_eq!(end_of_the_idle_phase("frozen", &robots("60s"), &closed), frozen);
    assert_eq!(end_of_the_idle_phase("frozen", &robots("2h"), &closed), late);
    assert_eq!(end_of_the_idle_phase("told", "robots = 1", &closed), late);
    // Opened before: at the first look.
    assert_eq!(end_of_the_idle_phase("told", "robots = 1", &open), (Nanos::from_secs(10), EndReason::Told));
    let objects = "robots = 1\nworking_set = { objects = 1000000 }";
    assert_eq!(end_of_the_idle_phase("frozen", objects, &closed), late);
}
