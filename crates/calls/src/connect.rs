//! TCP connections that are made and closed.
//!
//! Measuring side, hot. Our connections are reset, so that no port waits for late segments after a batch.

use crate::failure::{Done, OperationFailure};
use crate::partner::{Partner, listener};
use crate::station::Station;
use nix::sys::socket::{setsockopt, sockopt};
use std::io::Read;
use std::net::{SocketAddr, TcpStream};

/// Connections after which the station waits until the partner has taken them all: its queue has room for 128.
const TOGETHER: u64 = 64;

/// The partner that takes the connections exists during a batch only: other operations listen on the same port.
pub(crate) struct Connect {
    core: usize,
    port: u16,
    taker: Option<(SocketAddr, Partner)>,
}

impl Connect {
    pub(crate) const fn new(core: usize, port: u16) -> Self {
        Self { core, port, taker: None }
    }
}

fn once(address: SocketAddr) -> Done<TcpStream> {
    let stream = TcpStream::connect(address).map_err(OperationFailure::io("connect"))?;
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    setsockopt(&stream, sockopt::Linger, &at_once).map_err(OperationFailure::of("setsockopt"))?;
    Ok(stream)
}

fn make(address: SocketAddr, count: u64) -> Done {
    for number in 1..=count {
        let mut stream = once(address)?;
        if number % TOGETHER == 0 || number == count {
            // It takes them in order and closes each. An end is an end, even one by a reset.
            let _ = stream.read(&mut [0]);
        }
    }
    Ok(())
}

impl Station for Connect {
    fn before(&mut self, _count: u64) -> Done {
        let (listener, address) = listener(self.port)?;
        let partner = Partner::start(self.core, move || while listener.accept().is_ok() {})?;
        self.taker = Some((address, partner));
        Ok(())
    }

    fn run(&mut self, count: u64) -> Done {
        self.taker.as_ref().map_or(Ok(()), |(address, _)| make(*address, count))
    }

    fn after(&mut self) -> Done {
        self.taker = None;
        Ok(())
    }

    fn partner(&self) -> Option<&Partner> {
        self.taker.as_ref().map(|(_, partner)| partner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    #[test]
    fn a_batch_ends_when_every_connection_was_taken() {
        let (listener, address) = listener(0).unwrap();
        let taken = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&taken);
        // It takes them until the process of the tests ends.
        std::thread::spawn(move || {
            while listener.accept().is_ok() {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        make(address, 300).unwrap();
        // One is counted just after it was closed, when the other thread has a core again.
        let counted = || taken.load(Ordering::SeqCst);
        let began = Instant::now();
        while counted() < 300 {
            assert!(began.elapsed() < Duration::from_secs(60), "{}", counted());
            std::thread::yield_now();
        }
        assert_eq!(counted(), 300);
    }
}
