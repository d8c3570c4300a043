//! Echo of a byte by another process: over pipes, AF_UNIX sockets, UDP, TCP.
//!
//! Measuring side, hot on both ends.

use crate::failure::{Done, OperationFailure};
use crate::partner::{Partner, accepted, datagrams, listener};
use crate::station::{Station, all};
use nix::fcntl::OFlag;
use nix::unistd::{pipe2, read, write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Descriptors of our end, and the partner at the other.
pub(crate) struct Echo {
    /// The descriptor by which the byte goes out.
    out: OwnedFd,
    /// The descriptor by which it comes back.
    back: OwnedFd,
    partner: Partner,
}

impl Echo {
    pub(crate) fn pipes(core: usize) -> Done<Self> {
        let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(OperationFailure::of("pipe"));
        let ((their_in, out), (back, their_out)) = (pipe()?, pipe()?);
        let partner = Partner::start(core, move || answer(their_in, their_out))?;
        Ok(Self { out, back, partner })
    }

    pub(crate) fn unix(core: usize) -> Done<Self> {
        let (ours, theirs) = UnixStream::pair().map_err(OperationFailure::io("a pair of AF_UNIX sockets"))?;
        let partner = Partner::start(core, move || answer(&theirs, &theirs))?;
        Self::over(ours.into(), partner)
    }

    pub(crate) fn udp(core: usize) -> Done<Self> {
        let (ours, theirs) = datagrams()?;
        let partner = Partner::start(core, move || {
            let mut byte = [0];
            while let Ok((1, from)) = theirs.recv_from(&mut byte) {
                if theirs.send_to(&byte, from).is_err() {
                    break;
                }
            }
        })?;
        Self::over(ours.into(), partner)
    }

    pub(crate) fn tcp(core: usize, port: u16) -> Done<Self> {
        let (listener, address) = listener(port)?;
        let partner = Partner::start(core, move || {
            if let Some(stream) = accepted(listener) {
                let _ = stream.set_nodelay(true); // a byte at a time is never delayed anyhow
                answer(&stream, &stream);
            }
        })?;
        let ours = TcpStream::connect(address).map_err(OperationFailure::io("connect"))?;
        ours.set_nodelay(true).map_err(OperationFailure::io("setsockopt"))?;
        let mut echo = Self::over(ours.into(), partner)?;
        // Once it has answered, others can listen on the port.
        echo.run(1)?;
        Ok(echo)
    }

    fn over(socket: OwnedFd, partner: Partner) -> Done<Self> {
        let out = socket.try_clone().map_err(OperationFailure::io("dup"))?;
        Ok(Self { out, back: socket, partner })
    }
}

impl Station for Echo {
    fn run(&mut self, count: u64) -> Done {
        let mut byte = [1];
        for _ in 0..count {
            all("write", 1)(write(&self.out, &byte))?;
            all("read", 1)(read(&self.back, &mut byte))?;
        }
        Ok(())
    }

    fn partner(&self) -> Option<&Partner> {
        Some(&self.partner)
    }
}

/// Sends every byte back until the other end is closed. Returns their number.
fn answer(input: impl AsFd, output: impl AsFd) -> u64 {
    let (mut byte, mut count) = ([0], 0);
    while read(&input, &mut byte) == Ok(1) && write(&output, &byte) == Ok(1) {
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_batch_reaches_the_other_end_and_comes_back() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let other = std::thread::spawn(move || answer(&theirs, &theirs));
        let idle = Partner::start(0, || ()).unwrap();
        let mut echo = Echo::over(ours.into(), idle).unwrap();
        echo.run(1000).unwrap();
        drop(echo);
        assert_eq!(other.join().unwrap(), 1000);
    }

    #[test]
    fn a_partner_that_is_gone_is_noticed() {
        for mut echo in [Echo::pipes(0).unwrap(), Echo::unix(0).unwrap(), Echo::tcp(0, 0).unwrap()] {
            echo.run(3).unwrap();
            echo.partner = Partner::start(0, || ()).unwrap();
            let failure = echo.run(3).unwrap_err();
            assert!(["EPIPE", "ECONNRESET", "wrong"].contains(&failure.word().as_str()), "{failure}");
        }
    }
}
