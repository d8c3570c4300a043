//! The emulator process: one thread, asleep until a frame comes, one is due, or bakeoff sends an order.

use super::protocol::{Answer, Order};
use super::way::{FrameCounts, Way};
use bakeoff_sys::lines::Lines;
use bakeoff_sys::namespace::Namespace;
use bakeoff_sys::{process, tap, thread};
use bakeoff_units::{Clock, MonotonicClock};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// Frames taken from one device before the other and the due ones get their turn.
const BATCH: usize = 16;
/// More than any frame of the devices holds.
const LARGEST_FRAME: usize = 2048;

pub(super) fn run() -> io::Result<()> {
    process::own_session()?;
    thread::wake_sharply();
    let goes_first = thread::go_first().is_ok();
    let mut control = Control { lines: Lines::of_stdin()? };
    let Some(Order::Open { namespaces, device }) = control.wait()? else { return Ok(()) };
    let devices = match open(&namespaces, &device) {
        Ok(devices) => devices,
        Err((doing, error)) => {
            control.say(&Answer::Failed { doing: doing.to_owned(), error: error.to_string() })?;
            return Err(error);
        }
    };
    control.say(&Answer::Opened { goes_first })?;
    let ways = [Way::default(), Way::default()];
    Process { control, devices, ways, clock: MonotonicClock::new(), buffer: [0; LARGEST_FRAME] }.run()
}

fn open(namespaces: &[PathBuf; 2], name: &str) -> Result<[File; 2], (&'static str, io::Error)> {
    let device = |path: &PathBuf| {
        let namespace = Namespace::open(path).map_err(|error| ("opening a namespace", error))?;
        let made = namespace.run(|| tap::create(name)).map_err(|error| ("entering a namespace", error))?;
        made.map_err(|error| ("making a TAP device of /dev/net/tun", error))
    };
    Ok([device(&namespaces[0])?, device(&namespaces[1])?])
}

struct Process {
    control: Control,
    /// Frames from device 0 go to device 1 and the other way round.
    devices: [File; 2],
    /// By the device they come from.
    ways: [Way; 2],
    clock: MonotonicClock,
    buffer: [u8; LARGEST_FRAME],
}

impl Process {
    fn run(mut self) -> io::Result<()> {
        loop {
            self.deliver();
            let [from_first, from_second, spoken] = self.sleep()?;
            if from_first {
                self.fetch(0);
            }
            if from_second {
                self.fetch(1);
            }
            if spoken && !self.obey()? {
                return Ok(());
            }
        }
    }

    /// Hands over the frames that are due.
    fn deliver(&mut self) {
        for from in 0..2 {
            while let Some(frame) = self.ways[from].leave(self.clock.now()) {
                let taken = (&self.devices[1 - from]).write(&frame.bytes).is_ok();
                self.ways[from].left(frame, self.clock.now(), taken);
            }
        }
    }

    fn fetch(&mut self, from: usize) {
        for _ in 0..BATCH {
            // An error says that nothing is there, or that the device is down; both pass.
            let Ok(length) = (&self.devices[from]).read(&mut self.buffer) else { return };
            self.ways[from].come(&self.buffer[..length], self.clock.now());
        }
    }

    /// Sleeps until a frame is due, or bytes are readable; returns which of the two devices and the control socket are.
    fn sleep(&self) -> io::Result<[bool; 3]> {
        let due = self.ways.iter().filter_map(Way::next_due).min();
        let timeout = due.map(|due| TimeSpec::from_duration(due.since(self.clock.now()).as_duration()));
        let wait = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut waited =
            [wait(self.devices[0].as_fd()), wait(self.devices[1].as_fd()), wait(self.control.lines.as_fd())];
        match ppoll(&mut waited, timeout, None) {
            Ok(_) | Err(nix::Error::EINTR) => Ok(waited.map(|fd| fd.any().unwrap_or(true))),
            Err(error) => Err(error.into()),
        }
    }

    /// Carries out bakeoff's orders; false when it is gone.
    fn obey(&mut self) -> io::Result<bool> {
        if !self.control.lines.hear()? {
            return Ok(false);
        }
        while let Some(order) = self.control.next_order()? {
            let answer = match order {
                Order::Hinder(how) => {
                    self.ways.iter_mut().zip(0..).for_each(|(way, number)| way.hinder(how, number));
                    Answer::Hindered
                }
                Order::Record => self.record(),
                Order::Open { .. } => {
                    Answer::Failed { doing: "opening".into(), error: "the emulator is open".into() }
                }
            };
            self.control.say(&answer)?;
        }
        Ok(true)
    }

    fn record(&mut self) -> Answer {
        let mut sum = FrameCounts::default();
        for way in &mut self.ways {
            sum.merge(&std::mem::take(&mut way.tally));
        }
        Answer::Record {
            delays: sum.delays.encode(),
            packets: sum.packets,
            lost: sum.lost,
            refused: sum.refused,
            cpu_ns: thread::cpu_time().get(),
        }
    }
}

/// The end of the socket pair that is standard input.
struct Control {
    lines: Lines,
}

impl Control {
    /// The first order; none when bakeoff is gone.
    fn wait(&mut self) -> io::Result<Option<Order>> {
        loop {
            if let Some(order) = self.next_order()? {
                return Ok(Some(order));
            }
            if !self.lines.hear()? {
                return Ok(None);
            }
        }
    }

    fn next_order(&mut self) -> io::Result<Option<Order>> {
        Ok(self.lines.next_line().map(|line| serde_json::from_slice(&line)).transpose()?)
    }

    fn say(&mut self, answer: &Answer) -> io::Result<()> {
        self.lines.say(serde_json::to_vec(answer)?)
    }
}
