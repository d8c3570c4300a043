//! TCP connections that are made and closed.
//!
//! Measuring side, hot. Ours are reset, so that no port waits for late segments after a batch.

use crate::failure::{Done, Failure};
use crate::partner::{Partner, listener};
use crate::station::Station;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};

/// After so many we wait until the partner has taken them all: its queue has room for 128.
const TOGETHER: u64 = 64;

pub(crate) struct Connect {
    address: SocketAddr,
    partner: Partner,
}

impl Connect {
    pub(crate) fn new(core: usize) -> Done<Self> {
        let (listener, address) = listener()?;
        let partner = Partner::start(core, move || while listener.accept().is_ok() {})?;
        Ok(Self { address, partner })
    }

    fn once(&self) -> Done<TcpStream> {
        let stream = TcpStream::connect(self.address).map_err(Failure::io("connect"))?;
        let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&stream, sockopt::Linger, &at_once).map_err(Failure::of("setsockopt"))?;
        Ok(stream)
    }
}

impl Station for Connect {
    fn run(&mut self, count: u64) -> Done {
        for number in 1..=count {
            let mut stream = self.once()?;
            if number % TOGETHER == 0 || number == count {
                // It takes them in order and closes each. An end is an end, even one by a reset.
                let _ = stream.read(&mut [0]);
            }
        }
        Ok(())
    }

    fn partner(&self) -> Option<&Partner> {
        Some(&self.partner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_batch_ends_when_every_connection_was_taken() {
        let (listener, address) = listener().unwrap();
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        // It takes them until the process of the tests ends.
        std::thread::spawn(move || {
            while listener.accept().is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        let mut connect = Connect { address, partner: Partner::start(0, || ()).unwrap() };
        connect.run(300).unwrap();
        // One is counted just after it was closed.
        let counted = || taken.load(Ordering::SeqCst);
        assert!(
            (0..10_000).any(|_| {
                std::thread::yield_now();
                counted() == 300
            }),
            "{}",
            counted()
        );
    }
}
