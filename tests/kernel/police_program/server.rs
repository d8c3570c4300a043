//! A small server on port 80 of the namespace, both families, and clients of it.

use crate::stage::Ended;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Serves until the test's process ends.
#[derive(Clone, Default)]
pub(crate) struct Server(Arc<Mutex<Vec<String>>>);

impl Server {
    /// In the network namespace of the calling thread.
    pub(crate) fn start() -> Self {
        let (server, listener) = (Self::default(), TcpListener::bind((Ipv6Addr::UNSPECIFIED, 80)).unwrap());
        let paths = server.0.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (paths, stream) = (paths.clone(), stream.unwrap());
                std::thread::spawn(move || serve(stream, &paths));
            }
        });
        server
    }

    /// The requested paths, in order.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Answers until the client or an error ends it.
fn serve(mut stream: TcpStream, paths: &Mutex<Vec<String>>) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            // As servers do, it skips lines before a head.
            let begin = bytes.iter().take_while(|byte| b"\r\n".contains(byte)).count();
            bytes.drain(..begin);
            match bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => more(&mut stream, &mut bytes)?,
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let all = end + length.map_or(0, |length| length.parse::<usize>().unwrap());
        while bytes.len() < all {
            more(&mut stream, &mut bytes)?;
        }
        bytes.drain(..all);
        let path = head.split([' ', '\t']).nth(1).unwrap_or_default();
        paths.lock().unwrap().push(path.to_owned());
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
    }
}

fn more(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<()> {
    let mut part = [0; 4096];
    let read = stream.read(&mut part).ok().filter(|read| *read > 0)?;
    bytes.extend(&part[..read]);
    Some(())
}

/// Time limit against hanging, on any machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sends each part when the one before was acknowledged, and returns the statuses that came back until the server
/// closed. A part that ends a request is answered before the next one goes, however long that takes.
pub(crate) fn say(parts: &[impl AsRef<str>]) -> Vec<u16> {
    let mut stream = TcpStream::connect("127.0.0.1:80").unwrap();
    stream.set_nodelay(true).unwrap();
    // Of the body of a request in progress.
    let (mut got, mut bytes, mut owed) = (Vec::new(), [0; 4096], 0_usize);
    for part in parts.iter().map(AsRef::as_ref) {
        if stream.write_all(part.as_bytes()).is_err() {
            break;
        }
        let length = part.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let ends = match (owed, length) {
            (0, Some(length)) => {
                owed = length.parse().unwrap();
                false
            }
            (0, None) => part.ends_with("\r\n\r\n"),
            _ => {
                owed = owed.saturating_sub(part.len());
                owed == 0
            }
        };
        let patience = if ends { PATIENCE } else { Duration::from_millis(20) };
        stream.set_read_timeout(Some(patience)).unwrap();
        match stream.read(&mut bytes) {
            Ok(0) => return statuses(&got),
            Ok(read) => got.extend(&bytes[..read]),
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(_) => return statuses(&got),
        }
    }
    // The server sees the end, answers what it has, and closes.
    let _ = stream.shutdown(Shutdown::Write);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    while let Ok(read @ 1..) = stream.read(&mut bytes) {
        got.extend(&bytes[..read]);
    }
    statuses(&got)
}

/// The statuses of consecutive replies.
pub(crate) fn statuses(bytes: &[u8]) -> Vec<u16> {
    let text = String::from_utf8_lossy(bytes);
    text.split("HTTP/1.1 ").skip(1).map(|reply| reply[..3].parse().unwrap()).collect()
}

/// Waits, with a deadline.
pub(crate) fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "{what}: not in time");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a connection in progress is established in the end.
pub(crate) fn connected(stream: &TcpStream) -> bool {
    let mut poll = [nix::poll::PollFd::new(std::os::fd::AsFd::as_fd(stream), nix::poll::PollFlags::POLLOUT)];
    nix::poll::poll(&mut poll, 10_000_u16).unwrap();
    stream.peer_addr().is_ok() && stream.take_error().unwrap().is_none()
}

/// Waits until the server of this namespace has only closed connections on port 80.
pub(crate) fn wait_for_no_connection() {
    wait_until("no connection is left", || {
        let tables = ["tcp", "tcp6"]
            .map(|name| std::fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap());
        // Local address in hex, state: 0A listens, 06 is TIME_WAIT.
        let open = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            words[1].ends_with(":0050") && !["0A", "06"].contains(&words[3])
        };
        !tables.iter().flat_map(|table| table.lines().skip(1)).any(open)
    });
}

/// nginx in this network and with this directory, `{dir}` in its `http` section, as soon as it listens on an address.
pub(crate) fn nginx(dir: &Path, http: &str, address: &str) -> Ended {
    let text = "daemon off; master_process off; pid {dir}/pid; error_log {dir}/error; events { worker_connections 4096; }\nhttp { \
        client_body_temp_path {dir}/b; proxy_temp_path {dir}/p; fastcgi_temp_path {dir}/f; uwsgi_temp_path {dir}/u; \
        scgi_temp_path {dir}/s; HTTP }";
    let text = text.replace("HTTP", http).replace("{dir}", &dir.display().to_string());
    std::fs::write(dir.join("conf"), text).unwrap();
    let mut nginx = Command::new("nginx");
    let nginx = Ended(nginx.args(["-e", "stderr", "-c"]).arg(dir.join("conf")).spawn().unwrap());
    wait_until("nginx listens", || TcpStream::connect(address).is_ok());
    nginx
}
