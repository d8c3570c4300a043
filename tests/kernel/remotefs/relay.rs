//! Relay between clients and a server, for faults of the wire.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

/// One way of a connection through a relay.
pub(crate) struct OneWay {
    /// Number of the connection, from 0.
    pub(crate) number: usize,
    /// Whether the server speaks.
    pub(crate) is_answer: bool,
    pub(crate) from: TcpStream,
    pub(crate) to: TcpStream,
}

impl OneWay {
    pub(crate) fn cut(&self) {
        for end in [&self.from, &self.to] {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

/// Starts a relay; `pass` is run for each way of each connection, which is cut when it returns. Returns the address for
/// clients.
pub(crate) fn relay(server: SocketAddr, pass: impl Fn(&OneWay) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (number, client) in listener.incoming().map_while(Result::ok).enumerate() {
            // If nobody listens the client sees the end of its connection.
            let Ok(server) = TcpStream::connect(server) else { continue };
            for (from, to, is_answer) in [(&client, &server, false), (&server, &client, true)] {
                let _ = to.set_nodelay(true);
                let way = OneWay {
                    number,
                    is_answer,
                    from: from.try_clone().unwrap(),
                    to: to.try_clone().unwrap(),
                };
                let pass = pass.clone();
                thread::spawn(move || {
                    pass(&way);
                    way.cut();
                });
            }
        }
    });
    address
}
