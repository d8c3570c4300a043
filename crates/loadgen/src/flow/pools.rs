//! Pools of seats, one for each robot, and the lines of requests that wait for them.
//!
//! Measuring side, hot. A robot may have so many seats; a seat is a number out of one supply, taken when the
//! robot needs one more and given back when its connection is closed, so that robots without connections cost
//! nothing but their entry here. Requests that find all seats of their robot busy wait in its line. Nothing
//! here knows what a request is.

/// No seat, no entry.
const NONE: u32 = u32::MAX;

/// See the module.
pub(crate) struct RobotPools<T> {
    robots: Vec<Robot>,
    each: u32,
    seats: Vec<Seat>,
    /// The first unowned seat; [`Seat::next`] leads on.
    unowned: u32,
    entries: Vec<Entry<T>>,
    /// The first entry without a request.
    vacant: u32,
    /// The first and last entry that has a request and a seat for it.
    ready: Line,
    waiting: usize,
}

#[derive(Clone, Copy)]
struct Robot {
    /// Its idle seat that was used last; [`Seat::next`] leads on.
    idle: u32,
    seats: u32,
    line: Line,
}

#[derive(Clone, Copy)]
struct Seat {
    robot: u32,
    next: u32,
    busy: bool,
}

#[derive(Clone, Copy)]
struct Line {
    first: u32,
    last: u32,
}

impl Line {
    const EMPTY: Self = Self { first: NONE, last: NONE };
}

/// A request that waits, and its seat once it has one.
struct Entry<T> {
    request: Option<T>,
    seat: u32,
    next: u32,
}

impl<T> RobotPools<T> {
    pub(super) fn new(robots: usize, each: usize) -> Self {
        let none = Robot { idle: NONE, seats: 0, line: Line::EMPTY };
        Self {
            robots: vec![none; robots],
            each: each.max(1) as u32,
            seats: Vec::new(),
            unowned: NONE,
            entries: Vec::new(),
            vacant: NONE,
            ready: Line::EMPTY,
            waiting: 0,
        }
    }

    /// A seat for a request of this robot, the one it used last; `None` while all it may have are busy.
    pub(crate) fn claim(&mut self, robot: u32) -> Option<u32> {
        let Robot { idle, seats, .. } = *self.robot(robot);
        let seat = match idle {
            NONE if seats >= self.each => return None,
            NONE => self.new_seat(robot),
            idle => {
                self.robots[robot as usize].idle = self.seats[idle as usize].next;
                idle
            }
        };
        self.seats[seat as usize].busy = true;
        Some(seat)
    }

    /// The entry of a robot, made if need be.
    fn robot(&mut self, robot: u32) -> &mut Robot {
        let robot = robot as usize;
        if robot >= self.robots.len() {
            self.robots.resize(robot + 1, Robot { idle: NONE, seats: 0, line: Line::EMPTY });
        }
        &mut self.robots[robot]
    }

    fn new_seat(&mut self, robot: u32) -> u32 {
        self.robots[robot as usize].seats += 1;
        let fresh = Seat { robot, next: NONE, busy: true };
        if self.unowned == NONE {
            self.seats.push(fresh);
            return self.seats.len() as u32 - 1;
        }
        let seat = self.unowned;
        self.unowned = self.seats[seat as usize].next;
        self.seats[seat as usize] = fresh;
        seat
    }

    /// A request of this robot waits for a seat.
    pub(crate) fn wait(&mut self, robot: u32, request: T) {
        let fresh = Entry { request: Some(request), seat: NONE, next: NONE };
        let entry = if self.vacant == NONE {
            self.entries.push(fresh);
            self.entries.len() as u32 - 1
        } else {
            let entry = self.vacant;
            self.vacant = self.entries[entry as usize].next;
            self.entries[entry as usize] = fresh;
            entry
        };
        self.waiting += 1;
        let line = self.robot(robot).line;
        self.robots[robot as usize].line = self.append(line, entry);
    }

    fn append(&mut self, line: Line, entry: u32) -> Line {
        if line.first == NONE {
            return Line { first: entry, last: entry };
        }
        self.entries[line.last as usize].next = entry;
        Line { first: line.first, last: entry }
    }

    /// The first of a line and the line without it.
    fn split(&mut self, line: Line) -> (u32, Line) {
        let next = std::mem::replace(&mut self.entries[line.first as usize].next, NONE);
        let rest = if next == NONE { Line::EMPTY } else { Line { first: next, last: line.last } };
        (line.first, rest)
    }

    /// A seat's request has ended: the next in its robot's line has it.
    pub(crate) fn free(&mut self, seat: u32) {
        let Seat { robot, .. } = self.seats[seat as usize];
        let line = self.robots[robot as usize].line;
        if line.first == NONE {
            let next = std::mem::replace(&mut self.robots[robot as usize].idle, seat);
            self.seats[seat as usize] = Seat { robot, next, busy: false };
            return;
        }
        let (entry, rest) = self.split(line);
        self.robots[robot as usize].line = rest;
        self.entries[entry as usize].seat = seat;
        self.ready = self.append(self.ready, entry);
    }

    /// A seat's connection is closed: unless a request is on it, any robot may have it.
    pub(crate) fn closed(&mut self, seat: u32) {
        let Some(&Seat { robot, next, busy: false }) = self.seats.get(seat as usize) else { return };
        if robot == NONE {
            return;
        }
        self.unlink(robot, seat, next);
        self.robots[robot as usize].seats -= 1;
        self.seats[seat as usize] = Seat { robot: NONE, next: self.unowned, busy: false };
        self.unowned = seat;
    }

    /// Takes a seat out of its robot's idle ones, of which there are few.
    fn unlink(&mut self, robot: u32, seat: u32, next: u32) {
        let robot = &mut self.robots[robot as usize];
        if robot.idle == seat {
            robot.idle = next;
            return;
        }
        let mut before = robot.idle;
        while before != NONE && self.seats[before as usize].next != seat {
            before = self.seats[before as usize].next;
        }
        if before != NONE {
            self.seats[before as usize].next = next;
        }
    }

    /// The next request that waited and has a seat now.
    pub(crate) fn next_ready(&mut self) -> Option<(u32, T)> {
        if self.ready.first == NONE {
            return None;
        }
        let (entry, rest) = self.split(self.ready);
        self.ready = rest;
        let request = self.vacate(entry)?;
        Some((self.entries[entry as usize].seat, request))
    }

    fn vacate(&mut self, entry: u32) -> Option<T> {
        let request = self.entries[entry as usize].request.take();
        self.entries[entry as usize].next = std::mem::replace(&mut self.vacant, entry);
        self.waiting -= usize::from(request.is_some());
        request
    }

    /// Whether a request waits, with or without a seat.
    pub(crate) const fn is_waited_for(&self) -> bool {
        self.waiting > 0
    }

    /// Whether a request has a seat and is not sent yet.
    pub(crate) const fn is_ready(&self) -> bool {
        self.ready.first != NONE
    }

    /// Takes all waiting requests, with or without a seat, those of a robot in their order.
    pub(crate) fn give_up(&mut self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.waiting);
        while let Some((seat, request)) = self.next_ready() {
            all.push(request);
            self.free(seat);
        }
        for robot in 0..self.robots.len() {
            while self.robots[robot].line.first != NONE {
                let (entry, rest) = self.split(self.robots[robot].line);
                self.robots[robot].line = rest;
                all.extend(self.vacate(entry));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_robot_has_its_seats_and_no_more_and_its_line_is_its_own() {
        let mut pools = RobotPools::new(2, 2);
        assert_eq!([pools.claim(0), pools.claim(0), pools.claim(0)], [Some(0), Some(1), None]);
        pools.wait(0, "a");
        pools.wait(0, "b");
        assert_eq!(pools.claim(1), Some(2), "the other one is not held up");
        pools.free(2);
        assert!(!pools.is_ready());
        pools.free(1);
        assert_eq!((pools.next_ready(), pools.next_ready()), (Some((1, "a")), None));
        pools.free(1);
        pools.free(0);
        assert_eq!(pools.next_ready(), Some((1, "b")));
        assert!(!pools.is_waited_for());
        assert_eq!(pools.claim(0), Some(0));
        assert_eq!(pools.claim(7), Some(3), "a robot that was not announced");
    }

    #[test]
    fn seats_of_closed_connections_are_anybodys() {
        let mut pools = RobotPools::<()>::new(3, 3);
        let seats: Vec<u32> = (0..3).filter_map(|_| pools.claim(0)).collect();
        seats.iter().for_each(|seat| pools.free(*seat));
        pools.closed(1); // in the middle of the idle ones
        pools.closed(1); // told twice
        assert_eq!(pools.claim(2), Some(1));
        pools.closed(1); // busy: its request will open another connection
        assert_eq!((pools.claim(0), pools.claim(0), pools.claim(0)), (Some(2), Some(0), Some(3)));
        pools.free(1);
        pools.closed(1);
        assert_eq!(pools.claim(1), Some(1));
        assert_eq!(pools.seats.len(), 4);
    }

    #[test]
    fn nobody_who_waits_is_forgotten() {
        let mut pools = RobotPools::new(2, 1);
        for robot in 0..2 {
            assert!(pools.claim(robot).is_some());
            (0..3).for_each(|nth| pools.wait(robot, (robot, nth)));
        }
        pools.free(0);
        assert!(pools.is_ready());
        assert_eq!(pools.give_up(), [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
        assert!(!pools.is_waited_for() && !pools.is_ready());
        assert_eq!((pools.claim(0), pools.claim(1)), (Some(0), None));
    }

    #[test]
    fn an_idle_robot_costs_its_entry() {
        assert!(size_of::<Robot>() <= 16 && size_of::<Seat>() <= 12);
    }
}
