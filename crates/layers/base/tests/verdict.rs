//! Verdict cache tests: sequentially, and under loom in every order of its steps.

// The file of the crate is public there, and private here.
#![allow(clippy::unwrap_used, clippy::enum_variant_names, missing_docs, unreachable_pub, dead_code)]

/// As the crate has it, but with loom's locks.
#[path = "../src/verdict.rs"]
mod verdict;

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering};
    pub(crate) use loom::sync::{Mutex, MutexGuard};
}

use bakeoff_layers_base::verdict::{VerdictStored, Verdicts};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_verdict_holds_until_it_is_voided_expires_or_an_epoch_begins() {
    let verdicts = Verdicts::<u32, &str>::new(100, 4);
    assert_eq!(verdicts.look_up(&1, 0), None);
    assert_eq!(verdicts.ticket(1).keep("good", Some(10), || true), VerdictStored::Kept);
    assert_eq!(verdicts.look_up(&1, 9), Some("good"));
    assert_eq!(verdicts.look_up(&1, 10), None, "expired");
    let ticket = verdicts.ticket(1);
    let mut undone = 0;
    verdicts.void(&1, || undone += 1);
    assert_eq!((undone, verdicts.look_up(&1, 0)), (1, None));
    assert_eq!(ticket.keep("old", None, || panic!("a mark for a stale verdict")), VerdictStored::Stale);
    let ticket = verdicts.ticket(2);
    assert_eq!(verdicts.ticket(1).keep("good", None, || true), VerdictStored::Kept);
    let mut undone = Vec::new();
    verdicts.new_epoch(|key| undone.push(*key));
    assert_eq!((undone, verdicts.kept()), (vec![1], 0));
    assert_eq!(ticket.keep("of the last epoch", None, || true), VerdictStored::Stale);
    assert_eq!(verdicts.ticket(2).keep("good", None, || false), VerdictStored::Unmarked);
    assert_eq!(verdicts.look_up(&2, 0), None);
}

#[test]
fn a_full_table_keeps_what_it_has_and_says_so() {
    let verdicts = Verdicts::<u32, ()>::new(3, 1);
    let kept: Vec<VerdictStored> = (0..5).map(|key| verdicts.ticket(key).keep((), None, || true)).collect();
    assert_eq!(
        kept,
        [
            VerdictStored::Kept,
            VerdictStored::Kept,
            VerdictStored::Kept,
            VerdictStored::Full,
            VerdictStored::Full
        ]
    );
    assert_eq!(
        verdicts.ticket(0).keep((), None, || true),
        VerdictStored::Kept,
        "one that is there may be renewed"
    );
    verdicts.void(&0, || {});
    assert_eq!(verdicts.ticket(4).keep((), None, || true), VerdictStored::Kept);
}

/// An object to look at, with a mark beside it as the kernel keeps one.
struct World {
    verdicts: verdict::Verdicts<u32, u64>,
    content: AtomicU64,
    marked: AtomicU64,
}

impl World {
    fn new() -> Arc<Self> {
        let verdicts = verdict::Verdicts::new(4, 1);
        Arc::new(Self { verdicts, content: AtomicU64::new(1), marked: AtomicU64::new(0) })
    }

    /// Looks at the content and keeps the verdict.
    fn look(&self) {
        let ticket = self.verdicts.ticket(7);
        let seen = self.content.load(Ordering::SeqCst);
        ticket.keep(seen, None, || {
            self.marked.store(seen, Ordering::SeqCst);
            true
        });
    }

    /// Kept verdict and mark agree with the content.
    fn check(&self) {
        let content = self.content.load(Ordering::SeqCst);
        let kept = self.verdicts.look_up(&7, 0);
        assert!(kept.is_none_or(|seen| seen == content), "{kept:?} is kept of {content}");
        let marked = self.marked.load(Ordering::SeqCst);
        assert!(marked == 0 || marked == content, "{marked} is marked of {content}");
    }
}

#[test]
fn a_change_that_is_announced_leaves_neither_verdict_nor_mark_of_the_content_before() {
    loom::model(|| {
        let world = World::new();
        world.look();
        let looker = loom::thread::spawn({
            let world = world.clone();
            move || world.look()
        });
        // The change falls between the two: a concurrent look holds a ticket that is void.
        world.verdicts.void(&7, || world.marked.store(0, Ordering::SeqCst));
        world.content.store(2, Ordering::SeqCst);
        world.verdicts.void(&7, || world.marked.store(0, Ordering::SeqCst));
        looker.join().unwrap();
        world.check();
    });
}

#[test]
fn an_epoch_takes_the_mark_of_every_verdict_before_it_in_every_order() {
    loom::model(|| {
        let world = World::new();
        let looker = loom::thread::spawn({
            let world = world.clone();
            move || world.look()
        });
        world.content.store(2, Ordering::SeqCst);
        world.verdicts.new_epoch(|_| world.marked.store(0, Ordering::SeqCst));
        looker.join().unwrap();
        world.check();
    });
}
