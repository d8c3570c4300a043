//! A driver may go on on another thread, as a lane does from slice to slice.

use crate::stage::{Stage, bytes_of, each, expect, say};
use bakeoff_sys::driver::Wish;

/// Runs on a thread that ends.
fn elsewhere<T: Send>(stage: Stage, work: impl FnOnce(&mut Stage) -> T + Send) -> (Stage, T) {
    std::thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let mut stage = stage;
            let result = work(&mut stage);
            (stage, result)
        });
        thread.join().unwrap()
    })
}

#[test]
fn connections_outlive_the_thread_that_used_them() {
    each(|stage| {
        let (mut stage, mut peer) = elsewhere(stage, |stage| stage.pair(0, Wish::default()).0);
        for round in 0..5_u8 {
            if round % 2 == 0 {
                say(&mut peer, &[round, 1]); // while no thread waits
            }
            (stage, ()) = elsewhere(stage, |stage| {
                if round % 2 == 1 {
                    say(&mut peer, &[round, 1]);
                }
                stage.driver.send(0, &[round]).unwrap();
                let story = stage.until(|story| bytes_of(story, 0).len() == 2);
                assert_eq!(bytes_of(&story, 0), [round, 1]);
                stage.driver.send(0, &[round]).unwrap(); // for the next thread to hand over
            });
            stage.hand_over();
            expect(&mut peer, &[round, round]);
        }
    });
}
