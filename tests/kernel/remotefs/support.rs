//! Test site: an export with its server, mounts that never outlive their test, and a raw client that can send
//! anything.

pub(crate) use crate::daemon::{Mount, PATIENCE, can_mount, is_mounted, until};

use crate::daemon::{self, ready, skips};
use bakeoff_layers_remotefs::frame::{
    Attributes, ClientRequest, ConnectionPurpose, FileName, HEAD_BYTES, MessageHead, ServerReply,
};
use nix::mount::{MntFlags, umount2};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use tempfile::TempDir;

/// Term of most tests: a server makes no change for so long after its start.
pub(crate) const TERM_S: &str = "1";
/// The export's number.
pub(crate) const ROOT: u64 = 1;

pub(crate) fn command(word: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
    command.args(["remotefs", word]);
    command
}

/// Standard error of a command that must fail with this code.
pub(crate) fn refused(command: &mut Command, code: i32) -> String {
    let output: Output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// A directory, and places for mounts of it.
pub(crate) struct Site {
    folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("bakeoff-remotefs-").tempdir().unwrap();
        for name in ["export", "a", "b", "outside"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A path in the export, past the server.
    pub(crate) fn export(&self, name: &str) -> PathBuf {
        self.path("export").join(name)
    }

    /// Puts a copy in place of the export, for another server while the first one goes on with what it has.
    pub(crate) fn copy_export(&self) {
        let before = self.path(&format!("export-{}", fs::read_dir(self.folder.path()).unwrap().count()));
        fs::rename(self.path("export"), &before).unwrap();
        let copied = Command::new("cp").arg("-a").arg(before).arg(self.path("export")).status().unwrap();
        assert!(copied.success());
    }

    pub(crate) fn serve(&self) -> Server {
        self.serve_at("127.0.0.1:0", TERM_S)
    }

    pub(crate) fn serve_at(&self, address: &str, term_s: &str) -> Server {
        let status = self.path("server.status");
        let mut command = command("serve");
        command.arg(self.path("export")).args(["--plain", "--listen", address, "--term", term_s]);
        let (process, line) = ready(command.arg("--status").arg(&status), "listening on ");
        let address = line.strip_prefix("listening on ").unwrap().split(": ").next().unwrap();
        Server { process, address: address.parse().unwrap(), status }
    }

    /// Mounts it at `a` or `b`.
    pub(crate) fn mount(&self, server: &Server, at: &str, flags: &[&str]) -> Mount {
        self.mount_at(server.address, at, flags)
    }

    /// The same, with the server at this address.
    pub(crate) fn mount_at(&self, server: SocketAddr, at: &str, flags: &[&str]) -> Mount {
        let status = self.path(&format!("{at}.status"));
        let mut command = command("mount");
        command.arg(server.to_string()).arg(self.path(at)).arg("--plain").args(flags);
        command.arg("--status").arg(&status);
        Mount::of(command, self.path(at), status)
    }

    /// A server and two mounts of it.
    pub(crate) fn two(&self) -> (Server, Mount, Mount) {
        let server = self.serve();
        let (a, b) = (self.mount(&server, "a", &[]), self.mount(&server, "b", &[]));
        (server, a, b)
    }
}

impl Drop for Site {
    /// A server in this process goes on, and can write its status into a directory that is being removed.
    fn drop(&mut self) {
        for _ in 0..50 {
            let _ = fs::remove_dir_all(self.folder.path());
            if !self.folder.path().exists() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

/// A test's mount, until it ends.
pub(crate) struct Below(pub(crate) PathBuf);

impl Drop for Below {
    fn drop(&mut self) {
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
    }
}

/// A counter of a status file.
pub(crate) fn count(status: &Path, name: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap();
    // Refusals of credentials have a line only once they occurred.
    if name.starts_with("refused.credentials.") && !text.contains(&format!("\n{name} ")) {
        return 0;
    }
    daemon::count(&text, name)
}

/// A running server.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: SocketAddr,
    status: PathBuf,
}

impl Server {
    /// Waits until a counter has reached this.
    pub(crate) fn counts(&self, name: &str, at_least: u64) {
        until(&format!("{name} reaches {at_least}"), || count(&self.status, name) >= at_least);
    }

    /// Waits until a session was dropped, whether or not it was asked for something.
    pub(crate) fn drops_a_session(&self) {
        let dropped =
            || count(&self.status, "refused.ack-missing") + count(&self.status, "refused.term-over");
        until("a session is dropped", || dropped() > 0);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Mount {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn names(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Several counters of one time, once earlier events are written.
    pub(crate) fn counts<const N: usize>(&self, names: [&str; N]) -> [u64; N] {
        // A request that is always counted, and waited for, shows that the file is up to date.
        let seen = count(&self.status, "attributes") + count(&self.status, "lookups");
        let _ = fs::metadata(self.path(&format!("no such name {seen}")));
        until("the status is written", || {
            count(&self.status, "attributes") + count(&self.status, "lookups") > seen
        });
        names.map(|name| count(&self.status, name))
    }
}

/// All of an open file. Looking at its attributes first might refresh them; this does not.
pub(crate) fn bytes(file: &fs::File) -> String {
    let (mut text, mut room) = (Vec::new(), [0; 70_000]);
    loop {
        match file.read_at(&mut room, text.len() as u64).unwrap() {
            0 => return String::from_utf8(text).unwrap(),
            more => text.extend_from_slice(&room[..more]),
        }
    }
}

/// A thread that reads the beginning of an open file, which may block.
pub(crate) struct Reader {
    /// Closing it would wait for the daemon.
    reading: JoinHandle<(io::Result<String>, fs::File)>,
    call: String,
}

impl Reader {
    pub(crate) fn of(open: fs::File) -> Self {
        let (told, hears) = channel();
        let reading = std::thread::spawn(move || {
            told.send(nix::unistd::gettid()).unwrap();
            let mut room = [0; 9];
            let read = open.read_at(&mut room, 0).map(|read| String::from_utf8_lossy(&room[..read]).into());
            (read, open)
        });
        Self { reading, call: format!("/proc/self/task/{}/syscall", hears.recv().unwrap()) }
    }

    /// Waits until the thread blocks.
    pub(crate) fn waits(&self) {
        let call = format!("{} ", libc::SYS_pread64);
        until("the reader waits", || {
            assert!(!self.reading.is_finished(), "it was told something");
            fs::read_to_string(&self.call).is_ok_and(|text| text.starts_with(&call))
        });
    }

    pub(crate) fn told(self) -> io::Result<String> {
        self.reading.join().unwrap().0
    }
}

/// Reads a mapped byte again and again. Rust's mappings need unsafe code.
const MAPS: &str = "import mmap,sys\nf=open(sys.argv[1],'rb')\nm=mmap.mmap(f.fileno(),4,prot=mmap.PROT_READ)\n\
                    print(m[0],flush=True)\nwhile True: m[0]";

/// A process that has mapped a file, and reads it until the kernel has no page for it.
pub(crate) struct Mapping(Child);

impl Mapping {
    /// For a file that begins with this byte; `None` without python3, and the test prints SKIP.
    pub(crate) fn of(file: &Path, first: u8, test: &str) -> Option<Self> {
        let mut python = Command::new("python3");
        let Ok(child) = python.args(["-c", MAPS]).arg(file).stdout(Stdio::piped()).spawn() else {
            skips(test, "there is no python3");
            return None;
        };
        let mut mapping = Self(child);
        let mut line = String::new();
        BufReader::new(mapping.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, format!("{first}\n"));
        Some(mapping)
    }

    /// Waits until the process was killed for it.
    pub(crate) fn is_cut_off(&mut self) {
        until("the mapped file is refused", || self.0.try_wait().unwrap().is_some());
        assert_eq!(self.0.wait().unwrap().signal(), Some(libc::SIGBUS));
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A connection that can send anything.
pub(crate) struct Raw(Box<dyn ReadWrite>);

/// Plain or TLS.
pub(crate) trait ReadWrite: Read + Write + Send {}

impl<T: Read + Write + Send> ReadWrite for T {}

/// The answer, as far as tests look at it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Welcome { boot: u64, session: u32 },
    Attributes(Attributes),
    Bytes(Vec<u8>),
    Break(u64),
    Error(u32, u32),
    Refused(String),
    Other,
    Closed,
}

impl Raw {
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self::over(stream)
    }

    pub(crate) fn over(stream: impl ReadWrite + 'static) -> Self {
        Self(Box::new(stream))
    }

    /// A callback connection, its boot id and session.
    pub(crate) fn session(server: &Server) -> (Self, u64, u32) {
        let mut raw = Self::connect(server);
        let hello = ClientRequest::Hello {
            class: ConnectionPurpose::Callback,
            session: 0,
            boot: 0,
            credentials: &[],
        };
        let Heard::Welcome { boot, session } = raw.ask(&hello) else { panic!("no welcome") };
        (raw, boot, session)
    }

    /// A connection for questions of a session.
    pub(crate) fn data(server: &Server, boot: u64, session: u32) -> Self {
        let mut raw = Self::connect(server);
        raw.ask(&ClientRequest::Hello { class: ConnectionPurpose::Data, session, boot, credentials: &[] });
        raw
    }

    pub(crate) fn say(&mut self, bytes: &[u8]) {
        // The server may have closed it for an earlier message.
        let _ = self.0.write_all(bytes).and_then(|()| self.0.flush());
    }

    pub(crate) fn ask(&mut self, request: &ClientRequest<'_>) -> Heard {
        let mut bytes = Vec::new();
        request.put(&mut bytes);
        self.say(&bytes);
        self.hear()
    }

    pub(crate) fn lookup(&mut self, directory: u64, name: &[u8]) -> Heard {
        self.ask(&ClientRequest::Lookup { directory, name: FileName::of(name).unwrap() })
    }

    /// The number of an existing object.
    pub(crate) fn number(&mut self, directory: u64, name: &[u8]) -> u64 {
        match self.lookup(directory, name) {
            Heard::Attributes(attributes) => attributes.object,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) fn hear(&mut self) -> Heard {
        let mut head = [0; HEAD_BYTES];
        if let Err(error) = self.0.read_exact(&mut head) {
            assert_ne!(error.kind(), ErrorKind::WouldBlock, "nothing is said, and it is not closed");
            return Heard::Closed;
        }
        let head = MessageHead::read(&head).unwrap();
        let mut body = vec![0; head.length as usize];
        self.0.read_exact(&mut body).unwrap();
        match ServerReply::read(&head, &body).unwrap() {
            ServerReply::Welcome { boot, session, .. } => Heard::Welcome { boot, session },
            ServerReply::Attributes { attributes, .. } => Heard::Attributes(attributes),
            ServerReply::Bytes { bytes, .. } => Heard::Bytes(bytes.to_vec()),
            ServerReply::Break { number, .. } => Heard::Break(number),
            ServerReply::Error { errno, refusal } => Heard::Error(errno, refusal),
            ServerReply::Refused { name, .. } => Heard::Refused(name.to_owned()),
            _ => Heard::Other,
        }
    }
}
