//! Tests of the flow, with simulated time.

use super::*;
use crate::pacer::Constant;
use bakeoff_units::PerSecond;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn closed(think: Nanos, robots: usize, seats: Option<usize>) -> Flow {
    Flow::new(Plan::Closed { think, spread: Nanos::ZERO, robots, seats }, MS(1), |_| false)
}

#[test]
fn a_robot_with_its_own_seat_goes_on_at_once_or_when_it_has_thought() {
    let mut flow = closed(MS(5), 2, None);
    assert_eq!(flow.next(MS(0)), None);
    let first = flow.next(MS(1)).unwrap();
    assert_eq!((first.turn, first.due), (Turn { seat: 0, robot: 0 }, MS(1)));
    assert_eq!(flow.next(MS(1)).unwrap().turn.robot, 1);
    flow.served(first.turn, MS(2));
    assert_eq!((flow.next(MS(6)), flow.next_wake()), (None, Some(MS(7))));
    assert_eq!(flow.next(MS(8)).unwrap().due, MS(7));

    let mut flow = closed(Nanos::ZERO, 1, None);
    let turn = flow.next(MS(1)).unwrap().turn;
    flow.served(turn, MS(3));
    assert_eq!(flow.next(Nanos::ZERO), Some(Due { turn, due: MS(3), postponed: false }));
}

#[test]
fn robots_that_share_seats_wait_in_line_and_keep_their_due_time() {
    let mut flow = closed(Nanos::ZERO, 3, Some(1));
    let first = flow.next(MS(1)).unwrap();
    assert_eq!(flow.next(MS(1)), None);
    assert_eq!(flow.line, [(MS(1), 1), (MS(1), 2)]);
    flow.served(first.turn, MS(4));
    let second = flow.next(MS(4)).unwrap();
    assert_eq!((second.due, second.postponed, second.turn), (MS(1), true, Turn { seat: 0, robot: 1 }));
    flow.leave(second.turn, MS(5));
    let third = flow.next(MS(5)).unwrap();
    assert_eq!((third.due, third.turn.robot), (MS(1), 2));
    // The first robot was due again at 4 ms, joins the line, and is next.
    assert_eq!(flow.next(MS(6)), None);
    flow.failed(third.turn, MS(7), MS(10));
    assert_eq!(flow.next(MS(7)).unwrap().due, MS(4));
}

#[test]
fn an_open_loop_tells_what_a_missing_seat_held_up() {
    let pacer = Box::new(Constant::new(PerSecond::new(1000.0).unwrap(), 0, 1));
    let mut flow = Flow::new(Plan::Open { pacer, seats: 1 }, Nanos::ZERO, |_| false);
    flow.schedule(Some(Nanos::ZERO));
    let first = flow.next(MS(0)).unwrap();
    flow.schedule(Some(Nanos::ZERO));
    assert_eq!((flow.next(MS(3)), flow.next_wake(), flow.next_due()), (None, None, Some(MS(1))));
    flow.served(first.turn, MS(4));
    let second = flow.next(MS(4)).unwrap();
    assert!(second.postponed && second.due == MS(1));
    flow.schedule(None);
    flow.leave(second.turn, MS(5));
    assert!(flow.is_over());
}

#[test]
fn first_requests_are_spread() {
    let plan = Plan::Closed { think: MS(100), spread: MS(100), robots: 4, seats: None };
    let mut flow = Flow::new(plan, MS(1), |_| false);
    let dues: Vec<Nanos> = std::iter::from_fn(|| flow.next(MS(1000))).map(|due| due.due).collect();
    assert_eq!(dues, [MS(1), MS(26), MS(51), MS(76)]);
}

#[test]
fn a_source_with_its_own_clock_is_asked_as_often_as_one_likes() {
    let mut flow = Flow::new(Plan::Sourced { seats: 1 }, MS(10), |_| false);
    flow.schedule(Some(MS(7)));
    assert!(flow.may_change());
    flow.schedule(Some(MS(5)));
    assert_eq!((flow.next(MS(14)), flow.next_wake()), (None, Some(MS(15))));
    let turn = flow.next(MS(15)).unwrap().turn;
    flow.schedule(None);
    assert!(flow.is_over() && flow.may_change());
    flow.schedule(Some(MS(1))); // what the reply calls for
    flow.served(turn, MS(30));
    assert_eq!(flow.next(MS(30)).unwrap().due, MS(11));
}

#[test]
fn those_held_up_are_taken_with_their_due_times() {
    let mut flow = closed(Nanos::ZERO, 3, Some(1));
    flow.next(MS(1)).unwrap();
    assert_eq!(flow.next(MS(1)), None);
    assert_eq!(flow.held_up(MS(1)), None);
    assert_eq!([flow.held_up(MS(2)), flow.held_up(MS(2))], [Some((MS(1), 1)), Some((MS(1), 2))]);
    assert_eq!(flow.held_up(MS(2)), None);
}
