//! Far ends of another machine's run, called from here: their launchers are here, and their bytes pass through.
//!
//! Cold. For machines that cannot log in at each other, while this one can at both. What is said is not looked at: leases
//! and losses are the run's.

use super::channel::Mouth;
use super::error::ReachError;
use super::executable::Executable;
use super::incoming::pass_on;
use super::launch::launched;
use super::place::Place;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::process::{Child, ChildStdin};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Time to end for a launcher whose input is closed.
const END_WITHIN: Duration = Duration::from_secs(1);

/// Places that are called for somebody else.
pub struct Passing {
    places: Vec<Place>,
    executable: Executable,
    /// Words of the far ends.
    words: &'static [&'static str],
    open: BTreeMap<u32, Open>,
}

/// A launcher; its input is closed when nothing can be told any more.
struct Open {
    child: Child,
    tell: Option<Sender<Vec<u8>>>,
}

impl Passing {
    /// These, none of which is called yet.
    pub const fn of(places: Vec<Place>, executable: Executable, words: &'static [&'static str]) -> Self {
        Self { places, executable, words, open: BTreeMap::new() }
    }

    /// Passes bytes to the far end of this number, from 1, which is called with the first of them; none: it is over.
    ///
    /// # Errors
    /// There is no such place.
    pub fn pass(&mut self, number: u32, bytes: &[u8], mouth: &Mouth) -> io::Result<()> {
        if bytes.is_empty() {
            if let Some(open) = self.open.get_mut(&number) {
                open.tell = None;
            }
            return Ok(());
        }
        if !self.open.contains_key(&number) {
            let index = (number as usize).checked_sub(1);
            let place = index.and_then(|index| self.places.get(index));
            let place = place.ok_or_else(|| io::Error::other(format!("there is no far end {number}")))?;
            match called(place, &place.words(&self.executable, self.words), (number, mouth)) {
                Ok(open) => drop(self.open.insert(number, open)),
                Err(why) => {
                    mouth(number, true, format!("{why}\n").as_bytes());
                    mouth(number, false, &[]);
                    return Ok(());
                }
            }
        }
        if let Some(tell) = self.open.get(&number).and_then(|open| open.tell.as_ref()) {
            let _ = tell.send(bytes.to_vec()); // a launcher that is gone says so by itself
        }
        Ok(())
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.open.values_mut().for_each(|open| open.tell = None);
        let until = Instant::now() + END_WITHIN;
        for open in self.open.values_mut() {
            while Instant::now() < until && matches!(open.child.try_wait(), Ok(None)) {
                thread::sleep(Duration::from_millis(5));
            }
            let _ = open.child.kill();
            let _ = open.child.wait();
        }
    }
}

fn called(place: &Place, words: &[String], (number, mouth): (u32, &Mouth)) -> Result<Open, ReachError> {
    let (child, input, mut output, mut errors) = launched(place, words)?;
    let (tell, told) = channel();
    thread::spawn(move || write(input, &told));
    let own = mouth.clone();
    let words = thread::spawn(move || {
        let _ = pass_on(&mut errors, |bytes| {
            own(number, true, bytes);
            Ok(())
        });
    });
    let own = mouth.clone();
    thread::spawn(move || {
        let _ = pass_on(&mut output, |bytes| {
            own(number, false, bytes);
            Ok(())
        });
        // Its last words come before its end.
        let until = Instant::now() + END_WITHIN;
        while Instant::now() < until && !words.is_finished() {
            thread::sleep(Duration::from_millis(5));
        }
        own(number, false, &[]);
    });
    Ok(Open { child, tell: Some(tell) })
}

/// In a thread of its own: a launcher that takes nothing must not stop the hearing of others.
fn write(mut input: ChildStdin, told: &Receiver<Vec<u8>>) {
    while let Ok(bytes) = told.recv() {
        if input.write_all(&bytes).and_then(|()| input.flush()).is_err() {
            return;
        }
    }
}
