//! Listening, threads, and the planted cost.

use crate::burner::Burner;
use crate::connection::{Connection, Life};
use crate::respond::Responder;
use bakeoff_content::Catalogue;
use bakeoff_sys::epoll::Poller;
use bakeoff_sys::net;
use bakeoff_units::Nanos;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Receive buffer of a thread; requests are small.
const BUFFER_BYTES: usize = 16 * 1024;
/// Token of the listening socket.
const LISTENER: u64 = u64::MAX;
/// Pause before the next try when a connection cannot be taken.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(10);
/// Events taken from the kernel at a time.
const EVENTS: usize = 256;

/// What to serve and how.
#[derive(Debug)]
pub struct Options {
    /// Where to listen; port 0 picks a free one.
    pub address: SocketAddr,
    /// Number of threads, at least 1.
    pub threads: usize,
    /// Objects beside `/bytes/N`.
    pub catalogue: Catalogue,
    /// PEM files of certificate chain and key; `None` for plain HTTP.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// CPU time to spend on each request besides serving it.
    pub burn: Option<Nanos>,
}

/// Why it cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The port.
    #[error("origin: cannot listen on {address}: {why}; give another --port, or 0 for a free one")]
    Listen {
        /// Address asked for.
        address: SocketAddr,
        /// The system's word.
        why: io::Error,
    },
    /// Certificate or key.
    #[error("origin: {path}: {why}; give PEM files with --cert and --key")]
    Certificate {
        /// File.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Threads or event queues.
    #[error("origin: cannot start a thread: {0}")]
    Thread(#[from] io::Error),
}

/// Totals since the start.
#[derive(Debug, Default)]
pub struct Tally {
    /// Requests answered.
    pub requests: AtomicU64,
    /// Nanoseconds of CPU burned as asked for, from samples.
    pub burned_ns: AtomicU64,
}

/// A running origin; its threads end with the process.
#[derive(Debug)]
pub struct Origin {
    address: SocketAddr,
    tls: bool,
    tally: Arc<Tally>,
}

impl Origin {
    /// Starts serving.
    ///
    /// # Errors
    /// When the port is taken or the certificate cannot be read.
    pub fn start(options: Options) -> Result<Self, OriginError> {
        bakeoff_content::prepare();
        let tls = options.tls.as_ref().map(server_config).transpose()?;
        let listen = |address| net::listen(address, true).map_err(|why| OriginError::Listen { address, why });
        // A first socket that does not share finds out whether somebody else has the port.
        if options.address.port() != 0 {
            let why = |why| OriginError::Listen { address: options.address, why };
            drop(net::listen(options.address, false).map_err(why)?);
        }
        let first = listen(options.address)?;
        let address = first.local_addr()?;
        let mut listeners = vec![first];
        for _ in 1..options.threads.max(1) {
            listeners.push(listen(address)?);
        }
        let tally = Arc::new(Tally::default());
        let responder = Arc::new(Responder::new(options.catalogue));
        let has_tls = tls.is_some();
        for (index, listener) in listeners.into_iter().enumerate() {
            let worker = Worker {
                listener,
                poller: Poller::new(EVENTS)?,
                connections: Vec::new(),
                free: Vec::new(),
                tls: tls.clone(),
                responder: responder.clone(),
                burner: options.burn.map(Burner::new),
                tally: tally.clone(),
            };
            thread::Builder::new().name(format!("origin-{index}")).spawn(move || worker.serve())?;
        }
        Ok(Self { address, tls: has_tls, tally })
    }

    /// Where it listens, with the real port.
    pub fn url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.address)
    }

    /// Totals so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

struct Worker {
    listener: TcpListener,
    poller: Poller,
    connections: Vec<Option<Connection>>,
    free: Vec<usize>,
    tls: Option<Arc<ServerConfig>>,
    responder: Arc<Responder>,
    burner: Option<Burner>,
    tally: Arc<Tally>,
}

impl Worker {
    fn serve(mut self) {
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut busy: Vec<usize> = Vec::new();
        if self.poller.add_listener(&self.listener, LISTENER).is_err() {
            return;
        }
        loop {
            let wait = if busy.is_empty() { None } else { Some(Nanos::ZERO) };
            let Ok(ready) = self.poller.wait(wait) else { return };
            for index in 0..ready {
                match self.poller.event(index).token {
                    LISTENER => self.accept(),
                    token => self.advance(token as usize, &mut buffer, &mut busy),
                }
            }
            for slot in std::mem::take(&mut busy) {
                self.advance(slot, &mut buffer, &mut busy);
            }
        }
    }

    fn accept(&mut self) {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error)
                    if matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::ConnectionAborted) =>
                {
                    continue;
                }
                // Out of descriptors: the listener stays ready, so without a pause this would spin.
                Err(_) => return thread::sleep(OUT_OF_DESCRIPTORS),
            };
            let prepared = stream.set_nonblocking(true).and_then(|()| stream.set_nodelay(true));
            let Some(connection) = prepared.ok().and_then(|()| Connection::new(stream, self.tls.as_ref()))
            else {
                continue;
            };
            let slot = self.free.pop().unwrap_or_else(|| {
                self.connections.push(None);
                self.connections.len() - 1
            });
            if self.poller.add(&connection.stream, slot as u64).is_ok() {
                self.connections[slot] = Some(connection);
            } else {
                self.free.push(slot);
            }
        }
    }

    fn advance(&mut self, slot: usize, buffer: &mut [u8], busy: &mut Vec<usize>) {
        let Some(Some(connection)) = self.connections.get_mut(slot) else { return };
        let (burner, tally) = (&mut self.burner, &self.tally);
        let mut served = || {
            tally.requests.fetch_add(1, Ordering::Relaxed);
            if let Some(burner) = burner {
                tally.burned_ns.fetch_add(burner.burn().get(), Ordering::Relaxed);
            }
        };
        match connection.advance(buffer, &self.responder, &mut served) {
            Life::Open => {}
            Life::Busy => busy.push(slot),
            Life::Over => {
                self.connections[slot] = None;
                self.free.push(slot);
            }
        }
    }
}

fn server_config((cert, key): &(PathBuf, PathBuf)) -> Result<Arc<ServerConfig>, OriginError> {
    let error = |path: &PathBuf, why: String| OriginError::Certificate { path: path.clone(), why };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|why| error(cert, why.to_string()))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|why| error(key, why.to_string()))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| error(cert, why.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|why| error(cert, why.to_string()))?;
    Ok(Arc::new(config))
}
