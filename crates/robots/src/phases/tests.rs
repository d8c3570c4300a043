//! Tests of schedules whose ends and integrals are known by arithmetic.

use super::*;
use crate::population::Worker;

const S: fn(u64) -> Nanos = Nanos::from_secs;

fn ratio(share: f64) -> Option<Ratio> {
    Ratio::new(share)
}

fn phase(name: &str, goal: Goal) -> Phase {
    Phase {
        name: name.to_owned(),
        goal,
        load: Ramp::default(),
        population: Ramp::default(),
        recurrence: Ramp::default(),
        special: Ramp::default(),
        measured: true,
        outage: false,
    }
}

fn lasting(secs: u64) -> Goal {
    Goal { duration: Some(S(secs)), ..Goal::default() }
}

fn ramp(begin: f64, end: f64) -> Ramp {
    Ramp { begin: ratio(begin), end: ratio(end) }
}

fn schedule(phases: Vec<Phase>) -> Schedule {
    Schedule::new(phases.into(), Worker::ONLY, FillGate::new())
}

fn run_to(schedule: &mut Schedule, now: Nanos) -> Option<usize> {
    while schedule.end_by(now).is_some() {
        schedule.advance(now);
    }
    schedule.phase()
}

fn good(schedule: &mut Schedule, count: usize) {
    (0..count).for_each(|_| schedule.note(Finished { failed: false, fill_bytes: 10 }));
}

fn ends(schedule: &Schedule) -> Vec<(Nanos, EndReason)> {
    schedule.ended().iter().map(|ended| (ended.ended, ended.why)).collect()
}

#[test]
fn phases_end_at_their_time_however_late_one_looks() {
    let mut schedule =
        schedule(vec![phase("a", lasting(10)), phase("b", lasting(5)), phase("c", lasting(7))]);
    assert_eq!(run_to(&mut schedule, S(9)), Some(0));
    assert_eq!(run_to(&mut schedule, S(16)), Some(2));
    assert_eq!(schedule.ended()[1].ended, S(15));
    assert_eq!(run_to(&mut schedule, S(100)), None);
    let duration = EndReason::Duration;
    assert_eq!(ends(&schedule), [(S(10), duration), (S(15), duration), (S(22), duration)]);
}

#[test]
fn any_goal_is_enough() {
    let goal = Goal { transactions: Some(5), fill_bytes: Some(1000), ..lasting(60) };
    let mut by_count = schedule(vec![phase("a", goal)]);
    good(&mut by_count, 4);
    assert_eq!(run_to(&mut by_count, S(1)), Some(0));
    good(&mut by_count, 1);
    assert_eq!(run_to(&mut by_count, S(2)), None);
    assert_eq!(ends(&by_count), [(S(2), EndReason::Transactions)]);

    let goal = Goal { transactions: Some(500), ..goal };
    let mut by_fill = schedule(vec![phase("a", goal)]);
    good(&mut by_fill, 100);
    assert_eq!(run_to(&mut by_fill, S(3)), None);
    assert_eq!(ends(&by_fill), [(S(3), EndReason::Fill)]);

    let mut by_time = schedule(vec![phase("a", goal)]);
    assert_eq!(run_to(&mut by_time, S(61)), None);
    assert_eq!(ends(&by_time), [(S(60), EndReason::Duration)]);
}

#[test]
fn an_error_share_is_looked_at_from_1000_requests_on_and_ends_everything() {
    let errors = |goal| Goal { errors: Some(goal), ..lasting(3600) };
    let share = ErrorGoal::Share(Ratio::new(0.3).unwrap());
    let mut test = schedule(vec![phase("a", errors(share)), phase("b", lasting(1))]);
    (0..999).for_each(|_| test.note(Finished { failed: true, fill_bytes: 0 }));
    assert_eq!(run_to(&mut test, S(1)), Some(0));
    good(&mut test, 1);
    assert_eq!(run_to(&mut test, S(2)), None);
    assert_eq!(ends(&test), [(S(2), EndReason::TooManyErrors)]);

    let mut test = schedule(vec![phase("a", errors(share))]);
    (0..299).for_each(|_| test.note(Finished { failed: true, fill_bytes: 0 }));
    good(&mut test, 701);
    assert_eq!(run_to(&mut test, S(1)), Some(0), "29.9 % are not 30 %");

    let mut test = schedule(vec![phase("a", errors(ErrorGoal::Count(3)))]);
    (0..2).for_each(|_| test.note(Finished { failed: true, fill_bytes: 0 }));
    assert_eq!(run_to(&mut test, S(1)), Some(0));
    test.note(Finished { failed: true, fill_bytes: 0 });
    assert_eq!(run_to(&mut test, S(1)), None);
}

fn locked(goal: Goal, frozen: bool, told: bool) -> Phase {
    phase("fill", Goal { lock: Some(Lock { frozen, told, at_most: S(100) }), ..goal })
}

#[test]
fn a_locked_phase_waits_until_it_is_told() {
    let gate = FillGate::new();
    let phases = [locked(Goal::default(), false, true), phase("b", lasting(5))];
    let mut schedule = Schedule::new(phases.into(), Worker::ONLY, gate.clone());
    good(&mut schedule, 1_000);
    assert_eq!(run_to(&mut schedule, S(40)), Some(0));
    gate.open();
    assert_eq!(run_to(&mut schedule, S(41)), Some(1));
    assert_eq!(ends(&schedule), [(S(41), EndReason::Told)]);
    assert_eq!(run_to(&mut schedule, S(46)), None);
}

#[test]
fn a_fill_that_is_never_reached_ends_after_the_longest_time_of_its_lock() {
    let fill = Goal { fill_bytes: Some(1 << 40), ..Goal::default() };
    let mut schedule = schedule(vec![locked(fill, true, false), phase("b", lasting(5))]);
    schedule.set_frozen();
    assert_eq!(run_to(&mut schedule, S(99)), Some(0));
    assert_eq!(run_to(&mut schedule, S(101)), Some(1));
    assert_eq!(ends(&schedule), [(S(100), EndReason::TookTooLong)]);
}

#[test]
fn a_lock_that_waits_for_nothing_bounds_a_fill() {
    let fill = Goal { fill_bytes: Some(1000), ..Goal::default() };
    let phases = || vec![locked(fill, false, false), phase("b", lasting(5))];
    let mut reached = schedule(phases());
    good(&mut reached, 99);
    assert_eq!(run_to(&mut reached, S(7)), Some(0));
    good(&mut reached, 1);
    assert_eq!(run_to(&mut reached, S(8)), Some(1));
    assert_eq!(ends(&reached), [(S(8), EndReason::Fill)]);
    let mut never = schedule(phases());
    good(&mut never, 99);
    assert_eq!((run_to(&mut never, S(99)), run_to(&mut never, S(101))), (Some(0), Some(1)));
    assert_eq!(ends(&never), [(S(100), EndReason::TookTooLong)]);
}

#[test]
fn a_locked_phase_ends_after_its_longest_time_and_says_why() {
    let mut schedule = schedule(vec![locked(lasting(10), true, true), phase("b", lasting(5))]);
    schedule.set_frozen();
    assert_eq!(run_to(&mut schedule, S(99)), Some(0));
    assert_eq!(run_to(&mut schedule, S(103)), Some(1));
    assert_eq!(ends(&schedule), [(S(100), EndReason::TookTooLong)]);
}

#[test]
fn a_lock_that_opens_early_leaves_the_goal_and_one_that_opens_late_ends_the_phase() {
    let mut early = schedule(vec![locked(lasting(10), true, false)]);
    early.set_frozen();
    assert_eq!(run_to(&mut early, S(5)), Some(0));
    assert_eq!(run_to(&mut early, S(12)), None);
    assert_eq!(ends(&early), [(S(10), EndReason::Duration)]);

    let mut late = schedule(vec![locked(lasting(10), true, false)]);
    assert_eq!(run_to(&mut late, S(12)), Some(0));
    late.set_frozen();
    assert_eq!(run_to(&mut late, S(15)), None);
    assert_eq!(ends(&late), [(S(15), EndReason::Duration)]);
}

#[test]
fn factors_go_in_a_straight_line_and_are_handed_on() {
    let mut up = phase("up", lasting(10));
    up.load = ramp(0.0, 1.0);
    up.recurrence = ramp(0.2, 0.2);
    let mut down = phase("down", lasting(10));
    down.load = Ramp { begin: None, end: ratio(0.5) };
    let mut schedule = schedule(vec![up, phase("stay", lasting(10)), down]);
    assert_eq!(schedule.factors(S(0)).load, 0.0);
    assert_eq!(schedule.factors(S(4)).load, 0.4);
    run_to(&mut schedule, S(10));
    let factors = schedule.factors(S(15));
    assert_eq!((factors.load, factors.recurrence, factors.special), (1.0, 0.2, 1.0));
    run_to(&mut schedule, S(20));
    assert_eq!(schedule.factors(S(25)).load, 0.75);
}

#[test]
fn a_phase_cut_short_hands_on_where_it_was() {
    let mut up = phase("up", Goal { transactions: Some(3), ..lasting(10) });
    up.load = ramp(0.0, 1.0);
    let mut schedule = schedule(vec![up, phase("stay", lasting(10))]);
    good(&mut schedule, 3);
    run_to(&mut schedule, S(4));
    assert_eq!((schedule.phase(), schedule.factors(S(4)).load), (Some(1), 0.4));
}

#[test]
fn work_is_the_integral_of_load_and_reach_its_inverse() {
    let mut both = phase("both", lasting(10));
    both.load = ramp(0.0, 1.0);
    both.population = ramp(1.0, 0.0);
    let test = schedule(vec![both]);
    // x (1 - x) integrates to 1/6 over 0..1, which is ten seconds here.
    assert!((test.work(S(0), S(10)) - 10.0 / 6.0).abs() < 1e-12);
    assert!((test.work(S(0), S(5)) - 10.0 / 12.0).abs() < 1e-12);
    let Some(half) = test.reach(S(0), 10.0 / 12.0) else { panic!("half of it is reached") };
    assert!(half.get().abs_diff(S(5).get()) < 10, "{half}");
    assert_eq!(test.reach(S(0), 10.0 / 6.0 + 1e-6), None);
}

#[test]
fn work_is_looked_for_in_the_phases_that_follow() {
    let mut idle = phase("idle", lasting(10));
    idle.load = ramp(0.0, 0.0);
    let mut up = phase("up", lasting(10));
    up.load = ramp(0.0, 1.0);
    let top = phase("top", lasting(10));
    let test = schedule(vec![phase("first", lasting(10)), idle, up, top]);
    // Ten seconds of work until 10 s, none until 20 s, five until 30 s.
    for (work, at) in [(4.0, 4.0), (10.0 - 1e-9, 10.0), (11.25, 25.0), (17.0, 32.0)] {
        let Some(reached) = test.reach(S(0), work) else { panic!("{work} is reached") };
        assert!((reached.as_secs_f64() - at).abs() < 1e-6, "{work}: {reached}");
    }
    assert_eq!(test.reach(S(0), 25.1), None);
    assert_eq!(test.above(S(12), 0.5), Some(Nanos::from_millis(25_000) + Nanos::new(1)));
    assert_eq!(test.above(S(3), 0.5), Some(S(3)));
}

#[test]
fn goals_are_shared_out_among_workers() {
    let worker = Worker::new(1, 2).unwrap();
    let goal = Goal { transactions: Some(5), ..Goal::default() };
    let mut schedule = Schedule::new([phase("a", goal)].into(), worker, FillGate::new());
    good(&mut schedule, 2);
    assert_eq!(run_to(&mut schedule, S(1)), None, "the other worker has three");
}

#[test]
fn the_mean_load_is_that_of_the_time_a_phase_took() {
    let mut up = phase("up", lasting(10));
    up.load = ramp(0.0, 1.0);
    let stay = phase("stay", lasting(10));
    let mut tenth = phase("tenth", Goal { transactions: Some(5), ..Goal::default() });
    tenth.population = ramp(0.1, 0.1);
    let means = |spans: [u64; 4]| {
        let spans = spans.windows(2).zip([&up, &stay, &tenth]);
        mean_loads(spans.map(|(span, phase)| (phase, S(span[0]), S(span[1]))))
    };
    let are = |spans: [u64; 4], known: [f64; 3]| {
        let means = means(spans);
        assert!(means.iter().zip(known).all(|(got, known)| (got - known).abs() < 1e-9), "{means:?}");
    };
    // As planned: half on the way up, all of it, a tenth of the robots.
    are([0, 10, 20, 37], [0.5, 1.0, 0.1]);
    // Cut short half way up: a quarter on average, and half from there on.
    are([0, 5, 15, 15], [0.25, 0.5, 0.05]);
}

#[test]
fn planned_loads_are_those_of_phases_that_go_to_their_ends() {
    let text = "[robots]
        [[phase]]\nname = 'up'\ngoal = { duration = '4s' }\npopulation = { begin = '20%', end = '100%' }
        [[phase]]\nname = 'fill'\ngoal = { fill = '1GB' }
        [[phase]]\nname = 'idle'\ngoal = { duration = '9s' }\nload = { begin = '10%' }";
    let typed: toml::Table = toml::from_str(text).unwrap();
    let files: Vec<PhaseFile> = typed["phase"].clone().try_into().unwrap();
    let loads = planned_loads(&files);
    assert!(loads.iter().zip([0.6, 1.0, 0.1]).all(|(got, known)| (got - known).abs() < 1e-9), "{loads:?}");
}

/// A part of a run, and the gate by which it hears of the others.
fn part(phases: Vec<Phase>) -> (Schedule, PartsGate) {
    let gate = PartsGate::new(S(30));
    (schedule(phases).agreeing(gate.clone()), gate)
}

#[test]
fn a_phase_that_has_reached_its_goal_goes_on_until_the_other_parts_have() {
    let (mut part, gate) = part(vec![phase("a", lasting(10)), phase("b", lasting(5))]);
    assert_eq!((run_to(&mut part, S(9)), gate.reached()), (Some(0), 0));
    assert_eq!((run_to(&mut part, S(12)), gate.reached()), (Some(0), 1));
    assert_eq!(
        part.reach(S(12), 100.0),
        Some(S(112)),
        "it goes on asking, and looks past no end that is not known"
    );
    gate.let_go(1);
    assert_eq!((run_to(&mut part, S(15)), gate.reached()), (Some(1), 1));
    assert_eq!(run_to(&mut part, S(19)), Some(1), "five seconds from then on");
    gate.let_go(2);
    assert_eq!((run_to(&mut part, S(20)), gate.reached()), (None, 2));
    assert_eq!(ends(&part), [(S(15), EndReason::Duration), (S(20), EndReason::Duration)]);
}

#[test]
fn goals_that_count_wait_for_the_other_parts_too() {
    let (mut part, gate) = part(vec![phase("a", Goal { transactions: Some(3), ..Goal::default() })]);
    good(&mut part, 3);
    assert_eq!((run_to(&mut part, S(4)), gate.reached()), (Some(0), 1));
    good(&mut part, 100);
    gate.let_go(1);
    assert_eq!(run_to(&mut part, S(6)), None);
    assert_eq!(ends(&part), [(S(6), EndReason::Transactions)]);
}

#[test]
fn a_part_that_waits_in_vain_goes_on_alone_and_waits_no_more() {
    let phases = ["a", "b", "c"].map(|name| phase(name, lasting(10)));
    let (mut part, gate) = part(phases.to_vec());
    assert_eq!(run_to(&mut part, S(39)), Some(0));
    assert!(!gate.is_alone());
    assert_eq!((run_to(&mut part, S(41)), gate.is_alone()), (Some(1), true));
    assert_eq!((run_to(&mut part, S(51)), gate.reached()), (Some(2), 2));
    assert_eq!(ends(&part), [(S(40), EndReason::WithoutOthers), (S(50), EndReason::Duration)]);
}

#[test]
fn a_part_that_hears_that_nobody_will_come_goes_on_at_once() {
    let (mut part, gate) = part(vec![phase("a", lasting(10)), phase("b", lasting(10))]);
    assert_eq!(run_to(&mut part, S(12)), Some(0));
    gate.go_alone();
    assert_eq!(run_to(&mut part, S(13)), Some(1));
    assert_eq!(run_to(&mut part, S(24)), None);
    assert_eq!(ends(&part), [(S(13), EndReason::WithoutOthers), (S(23), EndReason::Duration)]);
}

/// With nothing to come a run is over, and nobody would be left to wait.
#[test]
fn a_phase_that_ends_in_silence_waits_for_nobody() {
    let mut down = phase("down", lasting(10));
    down.load = ramp(1.0, 0.0);
    let mut top = phase("top", lasting(10));
    top.load = ramp(1.0, 1.0);
    let (mut part, gate) = part(vec![down, top]);
    // Five seconds of work in the first ten, then one a second.
    let Some(at) = part.reach(S(0), 7.0) else { panic!("it looks into the phase that follows") };
    assert!((at.as_secs_f64() - 12.0).abs() < 1e-6, "{at}");
    assert_eq!((run_to(&mut part, S(11)), gate.reached()), (Some(1), 1));
    assert_eq!(ends(&part), [(S(10), EndReason::Duration)]);
}

#[test]
fn too_many_errors_wait_for_nobody() {
    let goal = Goal { errors: Some(ErrorGoal::Count(2)), ..lasting(10) };
    let (mut part, gate) = part(vec![phase("a", goal), phase("b", lasting(10))]);
    (0..2).for_each(|_| part.note(Finished { failed: true, fill_bytes: 0 }));
    assert_eq!((run_to(&mut part, S(3)), gate.reached()), (None, 0));
    assert_eq!(ends(&part), [(S(3), EndReason::TooManyErrors)]);
}

#[test]
fn reasons_are_known_by_their_lines_and_by_one_of_an_earlier_version() {
    for reason in EndReason::ALL {
        assert_eq!(EndReason::of_meaning(reason.meaning()), Some(reason));
    }
    assert_eq!(EndReason::of_meaning("it was told that it was enough"), Some(EndReason::Told));
    assert_eq!(EndReason::of_meaning("nobody says this"), None);
}
