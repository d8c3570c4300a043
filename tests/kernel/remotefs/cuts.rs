//! Deaths at every frame: whichever process is killed while a frame is in transit, acknowledged changes are there,
//! and others are there wholly or not at all.
//!
//! A proxy passes frames on, and kills a process instead of passing on the chosen frame. The same steps in an
//! ordinary directory give the expected state.

use crate::relay::{OneWay, relay};
use crate::support::{Site, TERM_S, can_mount, is_mounted, until};
use bakeoff_layers_remotefs::frame::{HEAD_BYTES, MessageHead};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;

/// The steps, a change each.
const STEPS: [fn(&Path) -> io::Result<()>; 11] = [
    |at| fs::create_dir(at.join("d")),
    |at| File::create_new(at.join("d/a")).map(drop),
    |at| OpenOptions::new().write(true).open(at.join("d/a"))?.write_all(b"one"),
    |at| OpenOptions::new().append(true).open(at.join("d/a"))?.write_all(b"two"),
    |at| File::open(at.join("d/a"))?.sync_all(),
    |at| fs::rename(at.join("d/a"), at.join("d/b")),
    |at| fs::hard_link(at.join("d/b"), at.join("c")),
    |at| symlink("c", at.join("l")),
    |at| OpenOptions::new().write(true).open(at.join("c"))?.set_len(2),
    |at| fs::remove_file(at.join("d/b")),
    |at| fs::remove_dir(at.join("d")),
];
/// Limit on frames: all steps with their look-ups take fewer, signs of life included.
const MOST_FRAMES: usize = 400;

/// Does the steps until one is not acknowledged; returns the number that were.
fn work(at: &Path) -> usize {
    STEPS.iter().take_while(|step| step(at).is_ok()).count()
}

/// A tree: the bytes of each file, the text of each link.
type State = BTreeMap<PathBuf, Vec<u8>>;

fn state(at: &Path) -> io::Result<State> {
    let (mut state, mut folders) = (State::new(), vec![PathBuf::new()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(at.join(&folder))? {
            let entry = entry?;
            let (path, kind) = (folder.join(entry.file_name()), entry.file_type()?);
            let told = if kind.is_dir() {
                folders.push(path.clone());
                b"/".to_vec()
            } else if kind.is_symlink() {
                fs::read_link(entry.path())?.into_os_string().into_vec()
            } else {
                fs::read(entry.path())?
            };
            state.insert(path, told);
        }
    }
    Ok(state)
}

/// States before the first step, and after each.
fn states() -> Vec<State> {
    let folder = tempfile::tempdir().unwrap();
    let after = |step: &fn(&Path) -> io::Result<()>| {
        step(folder.path()).unwrap();
        state(folder.path()).unwrap()
    };
    [State::new()].into_iter().chain(STEPS.iter().map(after)).collect()
}

/// The acknowledged steps are done, and the next one is done or not.
fn holds(acknowledged: usize, at: &Path, states: &[State]) {
    let may = states.iter().skip(acknowledged).take(2);
    until(&format!("what {acknowledged} steps or one more leave is in {}", at.display()), || {
        state(at).is_ok_and(|there| may.clone().any(|state| *state == there))
    });
}

/// Passes frames on between clients and a server.
#[derive(Default)]
struct Cutter {
    /// Number of frames left, the last included, and the process to kill at that.
    turn: Mutex<Option<(usize, Pid)>>,
}

impl Cutter {
    /// Starts it; returns also the address for clients.
    fn start(server: SocketAddr) -> (Arc<Self>, SocketAddr) {
        let cutter = Arc::new(Self::default());
        let own = cutter.clone();
        (cutter, relay(server, move |way| own.pass(way)))
    }

    /// From now on so many frames pass, less one.
    fn arm(&self, frames: usize, process: &Child) {
        *self.turn.lock().unwrap() = Some((frames, Pid::from_raw(process.id() as i32)));
    }

    /// Whether a process was killed.
    fn has_cut(&self) -> bool {
        self.turn.lock().unwrap().is_none()
    }

    fn pass(&self, way: &OneWay) {
        let (mut from, mut to, mut head) = (&way.from, &way.to, [0; HEAD_BYTES]);
        while from.read_exact(&mut head).is_ok() {
            let mut body = vec![0; MessageHead::read(&head).unwrap().length as usize];
            let is_whole = from.read_exact(&mut body).is_ok();
            if !is_whole || self.is_last() || to.write_all(&[&head[..], &body].concat()).is_err() {
                break;
            }
        }
    }

    /// Whether a frame is the chosen one; then it kills the process.
    fn is_last(&self) -> bool {
        let mut turn = self.turn.lock().unwrap();
        let Some((left, process)) = turn.take() else { return false };
        if left > 1 {
            *turn = Some((left - 1, process));
            return false;
        }
        kill(process, Signal::SIGKILL).unwrap();
        true
    }
}

#[test]
fn a_client_killed_at_any_frame_leaves_each_step_whole() {
    if !can_mount("a_client_killed_at_any_frame_leaves_each_step_whole") {
        return;
    }
    let (site, states) = (Site::new(), states());
    let server = site.serve();
    let (cutter, address) = Cutter::start(server.address);
    for frame in 1..MOST_FRAMES {
        let name = frame.to_string();
        fs::create_dir(site.export(&name)).unwrap();
        let mount = site.mount_at(address, "a", &[]);
        cutter.arm(frame, &mount.daemon);
        let acknowledged = work(&mount.path(&name));
        holds(acknowledged, &site.export(&name), &states);
        if !cutter.has_cut() {
            assert_eq!(acknowledged, STEPS.len());
            return assert!(frame > 2 * STEPS.len(), "{frame} frames are too few");
        }
        until("the keeper unmounts", || !is_mounted(&mount.at));
    }
    panic!("there is no end to the frames");
}

#[test]
fn a_server_killed_at_any_frame_keeps_what_it_acknowledged() {
    if !can_mount("a_server_killed_at_any_frame_keeps_what_it_acknowledged") {
        return;
    }
    let (site, states) = (Site::new(), states());
    let mut server = site.serve();
    let (cutter, address) = Cutter::start(server.address);
    let mount = site.mount_at(address, "a", &[]);
    for frame in 1..MOST_FRAMES {
        let name = frame.to_string();
        fs::create_dir(site.export(&name)).unwrap();
        // A change that goes out on the connection of the killed server fails, and no frame is counted.
        let absent = mount.path(&format!("before-{name}"));
        let is_asked = || fs::metadata(&absent).is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        until("the mount has found the new server", is_asked);
        cutter.arm(frame, &server.process);
        let acknowledged = thread::scope(|scope| {
            let working = scope.spawn(|| work(&mount.path(&name)));
            until("the work ends, or the server", || working.is_finished() || cutter.has_cut());
            if cutter.has_cut() {
                server.process.wait().unwrap();
                server = site.serve_at(&server.address.to_string(), TERM_S);
            }
            working.join().unwrap()
        });
        holds(acknowledged, &site.export(&name), &states);
        if !cutter.has_cut() {
            assert_eq!(acknowledged, STEPS.len());
            return assert!(frame > 2 * STEPS.len(), "{frame} frames are too few");
        }
    }
    panic!("there is no end to the frames");
}
