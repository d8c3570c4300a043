//! Regression: a reader delayed the lock of a store. It reads a directory of the mount into a page of its own FUSE
//! file, which it does not deliver, and so holds the directory's lock, which dropping a name needs. The daemon
//! dropped names and contents alternately, so contents after that name stayed readable: 1 MB of plain text 2 s after
//! the lock.

use crate::support::{PATIENCE, Site, assert_done, can_mount, text_of, until};
use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, Request,
};
use nix::mount::{MntFlags, umount2};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant, UNIX_EPOCH};

const BYTES: usize = 64 << 10;
const FOREVER: Duration = Duration::from_secs(1000);

/// A file whose content comes when its owner lets it.
struct Withheld {
    asked: Mutex<Sender<()>>,
    let_go: Mutex<Receiver<()>>,
}

fn attributes(inode: INodeNo) -> FileAttr {
    let (kind, perm, size) = if inode == INodeNo(1) {
        (FileType::Directory, 0o755, 4096)
    } else {
        (FileType::RegularFile, 0o644, BYTES as u64)
    };
    FileAttr {
        ino: inode,
        size,
        blocks: size / 512,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm,
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

impl Filesystem for Withheld {
    fn lookup(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEntry) {
        reply.entry(&FOREVER, &attributes(INodeNo(2)), Generation(0));
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &attributes(inode));
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: u64,
        _: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let _ = self.asked.lock().unwrap().send(());
        // Ends when the other end is dropped.
        let _ = self.let_go.lock().unwrap().recv();
        reply.error(Errno::EIO);
    }
}

/// Reads a directory into a private mapping of a file: the kernel asks for its content while it holds the
/// directory's lock. In Python, as it takes system calls that we forbid ourselves.
const READER: &str = "
import ctypes, mmap, os, sys
size = 65536
pages = mmap.mmap(os.open(sys.argv[2], os.O_RDONLY), size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
at = ctypes.addressof(ctypes.c_char.from_buffer(pages))
getdents64 = 217 if os.uname().machine == 'x86_64' else 61
ctypes.CDLL(None).syscall(getdents64, os.open(sys.argv[1], os.O_RDONLY), ctypes.c_void_p(at), size)
";

/// A process that lists a directory and holds its lock, until dropped.
struct Holder {
    at: PathBuf,
    let_go: Option<Sender<()>>,
    reader: Child,
    _session: BackgroundSession,
}

impl Holder {
    fn of(directory: &Path, at: PathBuf) -> Self {
        fs::create_dir(&at).unwrap();
        let ((asked, hears), (let_go, waits)) = (channel(), channel());
        let mut config = Config::default();
        config.mount_options = vec![MountOption::RO, MountOption::FSName("withheld".to_owned())];
        let withheld = Withheld { asked: Mutex::new(asked), let_go: Mutex::new(waits) };
        let session = fuser::spawn_mount(withheld, &at, &config).unwrap();
        let mut reader = Command::new("python3");
        let reader = reader.args(["-c", READER]).arg(directory).arg(at.join("file")).spawn().unwrap();
        let holder = Self { at, let_go: Some(let_go), reader, _session: session };
        hears.recv_timeout(PATIENCE).unwrap();
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.let_go.take());
        let _ = self.reader.wait();
        let _ = umount2(&self.at, MntFlags::MNT_DETACH);
    }
}

#[test]
fn an_open_file_is_refused_after_a_lock_though_a_reader_holds_its_directory() {
    if !can_mount("an_open_file_is_refused_after_a_lock_though_a_reader_holds_its_directory") {
        return;
    }
    // At once, and not when the directory is free again, which it never is: on a quiet machine within half a second.
    let took = locked_until_refused();
    assert!(took < PATIENCE / 2, "{took:?}");
}

/// Time after a lock for which a cached file stayed readable.
fn locked_until_refused() -> Duration {
    let site = Site::new();
    let mount = site.mount();
    let large = File::open(mount.at.join("img/large.bin")).unwrap();
    let mut first = vec![0; 1 << 20];
    large.read_exact_at(&mut first, 0).unwrap();
    assert_eq!(first, text_of("img/large.bin", 3_000_000)[..1 << 20]);
    let holder = Holder::of(&mount.at, site.path("withheld"));

    assert_done(&site.layers(&["lock", &site.text("site.vault")]));
    let locked = Instant::now();
    let reads = || large.read_at(&mut [0; 4096], 512 << 10);
    until("the open file is refused", || reads().is_err());
    let took = locked.elapsed();
    assert_eq!(reads().unwrap_err().raw_os_error(), Some(libc::EIO));
    for at in (0..1 << 20).step_by(4096) {
        large.read_at(&mut [0; 4096], at).expect_err("plain text after the lock");
    }
    until("the status says so", || mount.state() == "state locked" && mount.dropped() == "contents");
    // When the directory is free again, its names are dropped, too.
    drop(holder);
    until("all is dropped", || mount.dropped() == "names");
    took
}
