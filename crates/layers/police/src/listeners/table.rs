//! The kernel's table of TCP sockets, as far as it tells of listeners.
//!
//! Measured side; read a hundred times a second at most, so no further than the last listener: they come first.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

/// State of a listening socket there, `TCP_LISTEN`.
const LISTEN: &str = "0A";

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listening {
    /// Where.
    pub port: u16,
    /// IPv6, which may take IPv4 as well.
    pub is_v6: bool,
    /// Its number among sockets.
    pub inode: u64,
    /// Connections that nobody has taken yet.
    pub waiting: u32,
}

/// Who listens on these ports, in the network of the calling thread; in order of inodes.
///
/// # Errors
/// `/proc` is not there.
pub fn listening(ports: &[u16]) -> io::Result<Vec<Listening>> {
    let mut found = Vec::new();
    for (path, is_v6) in [("/proc/thread-self/net/tcp", false), ("/proc/thread-self/net/tcp6", true)] {
        match File::open(path) {
            Ok(file) => read(BufReader::new(file), is_v6, ports, &mut found)?,
            // A kernel without IPv6.
            Err(error) if is_v6 && error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    found.sort_unstable_by_key(|at| at.inode);
    Ok(found)
}

/// Connections that were ever made to listeners in the network of the calling thread, all of them.
///
/// # Errors
/// `/proc` is not there, or has no such number.
pub fn made() -> io::Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
    passive_opens(&text).ok_or_else(|| io::Error::other("/proc/net/snmp has no PassiveOpens"))
}

/// Of two lines that begin with `Tcp:`: names, then numbers.
fn passive_opens(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:")).map(str::split_ascii_whitespace);
    let (mut names, mut numbers) = (lines.next()?, lines.next()?);
    let at = names.position(|name| name == "PassiveOpens")?;
    numbers.nth(at)?.parse().ok()
}

fn read(text: impl BufRead, is_v6: bool, ports: &[u16], found: &mut Vec<Listening>) -> io::Result<()> {
    for line in text.lines().skip(1) {
        let line = line?;
        let mut fields = line.split_ascii_whitespace();
        let (local, state) = (fields.nth(1), fields.nth(1));
        if state != Some(LISTEN) {
            return Ok(());
        }
        let parsed = local.and_then(|local| parse(local, fields, is_v6));
        found.extend(parsed.filter(|at| ports.contains(&at.port)));
    }
    Ok(())
}

/// From `ADDRESS:PORT` and what comes behind the state.
fn parse<'l>(local: &str, mut rest: impl Iterator<Item = &'l str>, is_v6: bool) -> Option<Listening> {
    let (_, port) = local.rsplit_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let (_, waiting) = rest.next()?.split_once(':')?;
    let waiting = u32::from_str_radix(waiting, 16).ok()?;
    let inode = rest.nth(4)?.parse().ok()?;
    Some(Listening { port, is_v6, inode, waiting })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_table_is_read_up_to_its_last_listener() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000011 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n\
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000    33        0 4712 1 0 100 0 0 10 5\n\
   2: 0100007F:1F90 0100007F:1234 01 00000000:00000000 00:00000000 00000000    33        0 4713 1 0 100 0 0 10 5\n\
   3: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4714 1 0 100 0 0 10 0\n";
        let mut found = Vec::new();
        read(text.as_bytes(), false, &[8080, 81], &mut found).unwrap();
        assert_eq!(found, [Listening { port: 8080, is_v6: false, inode: 4711, waiting: 17 }]);
    }

    #[test]
    fn the_kernel_writes_it_so() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let before = made().unwrap();
        let _waiting = [(); 3].map(|()| TcpStream::connect(("127.0.0.1", port)).unwrap());
        let found = listening(&[port]).unwrap();
        assert!(made().unwrap() >= before + 3);
        assert_eq!(found.iter().map(|at| (at.is_v6, at.waiting)).collect::<Vec<_>>(), [(false, 3)]);
    }
}
