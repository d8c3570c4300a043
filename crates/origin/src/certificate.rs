//! Certificate of the origin for TLS.

use crate::error::OriginError;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) fn server_config(
    (cert, key): &(PathBuf, PathBuf),
    http2: bool,
) -> Result<Arc<ServerConfig>, OriginError> {
    let error = |path: &PathBuf, why: String| OriginError::Certificate { path: path.clone(), why };
    let chain = CertificateDer::pem_file_iter(cert)
        .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
        .map_err(|why| error(cert, why.to_string()))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|why| error(key, why.to_string()))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| error(cert, why.to_string()))?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|why| error(cert, why.to_string()))?;
    if http2 {
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    }
    Ok(Arc::new(config))
}
