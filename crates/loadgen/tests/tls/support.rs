//! A TLS server in memory, and the carrier of bytes between it and a session.

use bakeoff_loadgen::{ClientIdentity, Share, TlsClient, TlsOptions, TlsProgress, TlsSession, Trust};
use bakeoff_meter::ErrorClass;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of holders so far.
static HOLDERS: AtomicUsize = AtomicUsize::new(0);

/// The holder of a certificate signed by itself.
pub(crate) struct Holder {
    dir: tempfile::TempDir,
    der: CertificateDer<'static>,
    key: rcgen::KeyPair,
}

impl Holder {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        // Two of one name would be told apart only by their signatures.
        let number = HOLDERS.fetch_add(1, Ordering::Relaxed);
        params.distinguished_name.push(rcgen::DnType::CommonName, format!("holder {number}"));
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(dir.path().join("cert.pem"), certificate.pem()).unwrap();
        std::fs::write(dir.path().join("key.pem"), key.serialize_pem()).unwrap();
        Self { dir, der: certificate.der().clone(), key }
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.dir.path().join("cert.pem")
    }

    pub(crate) fn identity(&self) -> ClientIdentity {
        ClientIdentity { certificate: self.certificate(), key: self.dir.path().join("key.pem") }
    }

    /// Options that trust this holder.
    pub(crate) fn options(&self) -> TlsOptions {
        TlsOptions::new(Trust::File(self.certificate()))
    }

    fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).unwrap();
        roots
    }

    /// A server that knows every version, suite and group; `change` may take some away.
    pub(crate) fn server_with(
        &self,
        client: Option<&Self>,
        change: impl FnOnce(&mut rustls::crypto::CryptoProvider),
    ) -> ServerConfig {
        let mut provider = aws_lc_rs::default_provider();
        change(&mut provider);
        let provider = Arc::new(provider);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(rustls::ALL_VERSIONS)
            .unwrap();
        let builder = match client {
            None => builder.with_no_client_auth(),
            Some(client) => {
                let roots = Arc::new(client.roots());
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider).build().unwrap();
                builder.with_client_cert_verifier(verifier)
            }
        };
        let key = PrivatePkcs8KeyDer::from(self.key.serialize_der()).into();
        builder.with_single_cert(vec![self.der.clone()], key).unwrap()
    }

    /// The same, with tickets that hold the whole session, as nginx makes them.
    pub(crate) fn server(&self) -> ServerConfig {
        let mut config = self.server_with(None, |_| {});
        config.ticketer = aws_lc_rs::Ticketer::new().unwrap();
        config
    }
}

pub(crate) fn share(text: &str) -> Share {
    text.parse().unwrap()
}

/// A client of `localhost` for so many connections at once.
pub(crate) fn client(options: &TlsOptions, connections: usize) -> TlsClient {
    options.load().unwrap().client(ServerName::try_from("localhost").unwrap(), connections)
}

/// Both ends of a connection.
pub(crate) struct Pair {
    pub(crate) client: TlsSession,
    pub(crate) server: ServerConnection,
    /// Plain bytes that the client got.
    pub(crate) heard: Vec<u8>,
    /// Plain bytes that the server got.
    pub(crate) asked: Vec<u8>,
    pub(crate) progress: TlsProgress,
    pub(crate) server_error: Option<rustls::Error>,
}

impl Pair {
    pub(crate) fn new(client: TlsSession, server: &Arc<ServerConfig>) -> Self {
        let mut server = ServerConnection::new(server.clone()).unwrap();
        server.set_buffer_limit(None);
        let progress = TlsProgress::default();
        Self { client, server, heard: Vec::new(), asked: Vec::new(), progress, server_error: None }
    }

    /// Carries bytes until both are silent, `piece` of them at a time to the client.
    pub(crate) fn carry_in(&mut self, piece: usize) -> Result<(), ErrorClass> {
        loop {
            let mut out = Vec::new();
            self.client.take_output(&mut out);
            self.give_server(&out);
            let back = self.server_output();
            if out.is_empty() && back.is_empty() {
                return Ok(());
            }
            for bytes in back.chunks(piece) {
                let result = self.give_client(bytes);
                if result.is_err() {
                    let mut alert = Vec::new();
                    self.client.take_output(&mut alert);
                    self.give_server(&alert);
                }
                result?;
            }
        }
    }

    pub(crate) fn carry(&mut self) -> Result<(), ErrorClass> {
        self.carry_in(usize::MAX)
    }

    pub(crate) fn give_client(&mut self, bytes: &[u8]) -> Result<(), ErrorClass> {
        let heard = &mut self.heard;
        let progress = self.client.receive(bytes, &mut |plain| {
            heard.extend_from_slice(plain);
            Ok(())
        })?;
        self.progress.established |= progress.established;
        self.progress.ended |= progress.ended;
        Ok(())
    }

    pub(crate) fn give_server(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() && self.server_error.is_none() {
            self.server.read_tls(&mut bytes).unwrap();
            if let Err(error) = self.server.process_new_packets() {
                self.server_error = Some(error);
            }
            let _ = self.server.reader().read_to_end(&mut self.asked); // nothing now is an error to it
        }
    }

    pub(crate) fn server_output(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.server.wants_write() {
            self.server.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    /// The server sends it, and the client reads it.
    pub(crate) fn say(&mut self, bytes: &[u8], piece: usize) -> Result<(), ErrorClass> {
        self.server.writer().write_all(bytes).unwrap();
        self.carry_in(piece)
    }

    /// The client sends it, and the server reads it.
    pub(crate) fn ask(&mut self, bytes: &[u8]) {
        let mut out = Vec::new();
        self.client.write(bytes, &mut out).unwrap();
        self.give_server(&out);
    }
}

/// A handshake with the next session of a client.
pub(crate) fn shake(client: &mut TlsClient, server: &Arc<ServerConfig>) -> Result<Pair, ErrorClass> {
    let mut pair = Pair::new(client.session().unwrap(), server);
    pair.carry()?;
    Ok(pair)
}
