//! The origin over TLS.

use crate::support::{bytes, connect, ended, of_world_over_tls, read_one, start, within_patience};
use bakeoff_origin::{Costs, Origin, OriginError, OriginOptions, World};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An origin with a certificate of its own for localhost; the files live as long as the folder.
pub(crate) struct Secure {
    pub(crate) origin: Origin,
    pub(crate) dir: tempfile::TempDir,
    roots: RootCertStore,
}

impl Secure {
    pub(crate) fn new() -> Self {
        Self::starting(|files| start(Some(files)))
    }

    fn starting(origin: impl FnOnce((PathBuf, PathBuf)) -> Origin) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        std::fs::write(&cert, signed.cert.pem()).unwrap();
        std::fs::write(&key, signed.signing_key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(signed.cert.der().clone()).unwrap();
        Self { origin: origin((cert, key)), dir, roots }
    }

    fn connect(
        &self,
        version: &'static SupportedProtocolVersion,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        self.connect_trusting(version, self.roots.clone())
    }

    /// A client that knows no authority.
    pub(crate) fn connect_without_trust(&self) -> StreamOwned<ClientConnection, TcpStream> {
        self.connect_trusting(&rustls::version::TLS13, RootCertStore::empty())
    }

    fn connect_trusting(
        &self,
        version: &'static SupportedProtocolVersion,
        roots: RootCertStore,
    ) -> StreamOwned<ClientConnection, TcpStream> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").unwrap();
        StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), connect(&self.origin))
    }
}

#[test]
fn both_versions_keep_a_connection_and_end_it_properly() {
    within_patience(|| {
        let secure = Secure::new();
        assert!(secure.origin.url().starts_with("https://127.0.0.1:"));
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            let mut stream = secure.connect(version);
            for size in [0, 1, 16_384, 65_536, 5_000_000] {
                write!(stream, "GET /bytes/{size} HTTP/1.1\r\n\r\n").unwrap();
                assert!(read_one(&mut stream).body == bytes(size), "{size}");
            }
            stream.write_all(b"GET /bytes/200000 HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
            assert!(read_one(&mut stream).body == bytes(200_000));
            // With the session's end said, not only the connection's: else this is an error.
            assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        }
    });
}

#[test]
fn replies_about_a_world_wait_and_idle_connections_end_properly() {
    within_patience(|| {
        let text = "[[content]]\nname = \"any\"\nsize = \"const:100KB\"\n\
            [origin]\nthink = \"const:1500ms\"\nidle_timeout = \"1s\"\n";
        let world = World::from_toml(text).unwrap();
        let secure = Secure::starting(|files| of_world_over_tls(world, files));
        let mut stream = secure.connect(&rustls::version::TLS13);
        let begin = Instant::now();
        let path = "/w0000000000000001/s0000/t00/_0000000000000001";
        stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").repeat(2).as_bytes()).unwrap();
        for _ in 0..2 {
            assert_eq!(read_one(&mut stream).body.len(), 102_400);
            assert!(begin.elapsed() >= Duration::from_millis(1_500));
        }
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        assert_eq!(ended(&secure.origin, "idle for too long"), 1);
    });
}

#[test]
fn a_request_split_at_every_byte_and_two_in_a_record() {
    within_patience(|| {
        let secure = Secure::new();
        let mut stream = secure.connect(&rustls::version::TLS13);
        let request = b"GET /bytes/11 HTTP/1.1\r\n\r\n";
        for split in 1..request.len() {
            stream.write_all(&request[..split]).unwrap();
            stream.flush().unwrap();
            stream.write_all(&request[split..]).unwrap();
            assert_eq!(read_one(&mut stream).body, bytes(11));
        }
        stream.write_all(&request.repeat(2)).unwrap();
        assert_eq!((read_one(&mut stream).body, read_one(&mut stream).body), (bytes(11), bytes(11)));
    });
}

#[test]
fn a_reader_who_comes_late_gets_everything() {
    within_patience(|| {
        let secure = Secure::new();
        let mut late = secure.connect(&rustls::version::TLS13);
        late.write_all(b"GET /bytes/20000000 HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
        for _ in 0..20 {
            let mut other = secure.connect(&rustls::version::TLS13);
            other.write_all(b"GET /bytes/1000 HTTP/1.1\r\n\r\n").unwrap();
            assert_eq!(read_one(&mut other).body, bytes(1000));
        }
        assert!(read_one(&mut late).body == bytes(20_000_000));
        assert_eq!(late.read(&mut [0]).unwrap(), 0);
    });
}

#[test]
fn who_speaks_no_tls_is_sent_away() {
    within_patience(|| {
        let secure = Secure::new();
        let mut plain = connect(&secure.origin);
        plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut said = Vec::new();
        let _ = plain.read_to_end(&mut said); // an alert, perhaps, then the end
        assert!(said.len() < 20, "{said:?}");
        let mut stream = secure.connect(&rustls::version::TLS13);
        stream.write_all(b"GET /bytes/7 HTTP/1.1\r\n\r\n").unwrap();
        assert_eq!(read_one(&mut stream).body, bytes(7));
    });
}

#[test]
fn a_certificate_that_is_none_is_an_error_that_says_which() {
    let secure = Secure::new();
    let broken = secure.dir.path().join("broken.pem");
    std::fs::write(&broken, "nothing").unwrap();
    let options = OriginOptions {
        for_caches: None,
        address: "127.0.0.1:0".parse().unwrap(),
        threads: 1,
        catalogue: bakeoff_content::Catalogue::default(),
        tls: Some((broken, secure.dir.path().join("key.pem"))),
        http2: true,
        world: None,
        burn: Costs::default(),
    };
    let error = Origin::start(options).unwrap_err();
    assert!(matches!(&error, OriginError::Certificate { .. }), "{error}");
    assert!(error.to_string().contains("broken.pem"), "{error}");
}
