//! Orders, contents and detected failures of a store, on a directory of the real file system.

use super::super::kind::tests::work;
use super::super::kind::{Kind, kinds};
use super::super::watch::Watch;
use super::*;
use bakeoff_plan::TreeShape;
use bakeoff_units::{MonotonicClock, Nanos};
use std::sync::atomic::AtomicBool;

/// A store of one size and a tree that lies on disk.
struct Yard {
    store: Store,
    kinds: Vec<Kind>,
    _place: tempfile::TempDir,
}

fn yard(operations: &[FileOperation]) -> Yard {
    let mut work = work(operations, &[100]);
    work.files = Some(20);
    work.tree = Some(TreeShape { files: 5, directories: 2, mean: Bytes::new(10) });
    let place = tempfile::tempdir().unwrap();
    let store = Store::new(place.path().to_owned(), &work, 7);
    pulsed(|pulse| store.fill(pulse)).unwrap();
    Yard { store, kinds: kinds(&work), _place: place }
}

fn pulsed<T: Send>(work: impl FnOnce(&Pulse<'_>) -> T + Send) -> T {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let watch = Watch { clock: MonotonicClock::new(), patience: Nanos::from_secs(60), interrupted: &NEVER };
    watch.over(&mut || panic!("nothing hangs"), work).0
}

fn read_all(yard: &mut Yard) -> Vec<Class> {
    let steps = yard.store.steps(&yard.kinds[0], 0, 0, 20);
    let mut hand = Hand::open(&yard.store.root, Fsync::None, Check::Full).unwrap();
    let names = yard.store.ground(&yard.kinds[0]).names;
    let read = steps.iter().filter_map(|step| match step {
        Step::Read(file, body) => hand.read(&names[*file], *body).err(),
        other => panic!("{other:?}"),
    });
    read.map(|failure| failure.class).collect()
}

#[test]
fn every_file_is_asked_for_before_any_is_again() {
    let mut yard = yard(&[FileOperation::Read]);
    let files = |steps: &[Step]| -> Vec<usize> {
        let file = |step: &Step| if let Step::Read(file, _) = step { *file } else { panic!("{step:?}") };
        steps.iter().map(file).collect()
    };
    let mut of = |round| files(&yard.store.steps(&yard.kinds[0], 0, round, 50));
    let (first, again, next) = (of(0), of(0), of(1));
    assert_eq!(first, again);
    assert_ne!(first, next);
    let mut once = first[..20].to_vec();
    once.sort_unstable();
    assert_eq!(once, (0..20).collect::<Vec<_>>());
    assert_eq!(first[..20], first[20..40]);
}

#[test]
fn what_was_written_over_is_what_is_expected_afterwards() {
    let mut yard = yard(&[FileOperation::Read, FileOperation::Write]);
    assert_eq!(read_all(&mut yard), []);
    let write = yard.kinds[1];
    let steps = yard.store.steps(&write, 1, 0, 25);
    {
        let mut hand = Hand::open(&yard.store.root, Fsync::None, Check::Full).unwrap();
        let names = yard.store.ground(&write).names;
        for step in &steps {
            let Step::Write(file, body) = step else { panic!("{step:?}") };
            hand.write(&names[*file], *body).unwrap();
        }
    }
    assert!(read_all(&mut yard).contains(&Class::WrongBytes), "the old content is gone");
    yard.store.settle(&write, &steps, &[]);
    assert_eq!(read_all(&mut yard), []);
    assert!(pulsed(|pulse| yard.store.read_back(&write, &steps, Check::Full, pulse)).is_empty());
    // After a failed write the content is unknown, so none is expected.
    let lost = yard.store.steps(&write, 1, 1, 1);
    yard.store.settle(&write, &lost, &[(0, Class::WriteFailed)]);
    assert_eq!(read_all(&mut yard), []);
}

#[test]
fn a_file_that_somebody_changed_is_noticed_when_it_is_read_back() {
    let mut yard = yard(&[FileOperation::Create]);
    let create = yard.kinds[0];
    let steps = yard.store.steps(&create, 0, 0, 3);
    {
        let mut hand = Hand::open(&yard.store.root, Fsync::None, Check::Full).unwrap();
        let names = yard.store.ground(&create).names;
        for step in &steps {
            let Step::Create(file, body) = step else { panic!("{step:?}") };
            hand.create(&names[*file], *body).unwrap();
        }
    }
    let Step::Create(file, _) = steps[1] else { panic!("{steps:?}") };
    let path = yard.store.root.join(path_of(&yard.store.ground(&create).names[file]));
    std::fs::write(path, [0; 100]).unwrap();
    let wrong = pulsed(|pulse| yard.store.read_back(&create, &steps, Check::Full, pulse));
    let wrong: Vec<(usize, Class)> = wrong.into_iter().map(|(step, failure)| (step, failure.class)).collect();
    assert_eq!(wrong, [(1, Class::WrongBytes)]);
    pulsed(|pulse| yard.store.clear(&create, &steps, pulse)).unwrap();
    assert_eq!(std::fs::read_dir(yard.store.root.join("100.new")).unwrap().count(), 0);
}

#[test]
fn room_is_reckoned_for_what_lies_there_and_for_what_is_made() {
    let yard = yard(&[FileOperation::Create, FileOperation::TreeCopy]);
    // 20 files of a block and an inode; the tree's 5 files and 2 directories likewise.
    let (lies, tree) = (20 * 8192, 50 + 7 * 8192);
    let room = |count: u64| yard.store.room(&yard.kinds, |_| count).get();
    assert!(room(0).abs_diff(lies + tree) < 50);
    assert!(room(10).abs_diff(lies + tree + 10 * tree) < 500, "copies are larger than files");
}
