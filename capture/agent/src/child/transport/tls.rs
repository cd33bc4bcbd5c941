//! TLS whose certificate is checked: against a pin, or against this system's roots.

use std::{io, sync::Arc};

use segment::Sha256;
use tokio_rustls::{
    TlsAcceptor, TlsConnector,
    rustls::{
        self, CertificateError, ClientConfig, DigitallySignedStruct, OtherError, RootCertStore,
        SignatureScheme,
        client::{
            WebPkiServerVerifier,
            danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
        },
        crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
        pki_types::{CertificateDer, ServerName, UnixTime},
    },
};

use super::{Error, Transport};
use crate::access::Trust;

/// An encrypted connection.
pub(in crate::child) struct Encrypted {
    /// What it carries.
    pub(in crate::child) stream: Transport,
    /// The certificate that was believed, in DER: sign-in may be bound to it.
    pub(in crate::child) certificate: Vec<u8>,
}

/// Encrypts `stream` to a server that proves to be `host` to `trust`.
pub(in crate::child) async fn wrap(
    stream: Transport,
    host: &str,
    trust: Trust,
) -> Result<Encrypted, Error> {
    let refuse = |cause: rustls::Error| Error::Tls(text_of(&cause));
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match trust {
        Trust::Pin(pin) => Arc::new(Pinned {
            pin,
            provider: Arc::clone(&provider),
        }),
        Trust::Roots => Arc::new(Rooted(roots(&provider)?)),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(refuse)?
        .dangerous() // rustls's word for any verifier but its own; ours stand below
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|_| {
        Error::Certificate("the URL's host is no name that one could be for".into())
    })?;
    let wrapped = TlsConnector::from(Arc::new(config)).connect(name, stream);
    match wrapped.await {
        Ok(stream) => {
            let (_, session) = stream.get_ref();
            let leaf = session.peer_certificates().and_then(<[_]>::first);
            Ok(Encrypted {
                certificate: leaf.map(|leaf| leaf.to_vec()).unwrap_or_default(),
                stream: Box::new(stream),
            })
        }
        Err(error) => Err(error_of(&error)),
    }
}

/// Encrypts `stream` from a client, by the key of the certificate `own`.
pub(in crate::child) async fn accept(
    stream: Transport,
    acceptor: &TlsAcceptor,
    own: &[u8],
) -> Result<Encrypted, Error> {
    match acceptor.accept(stream).await {
        Ok(stream) => Ok(Encrypted {
            stream: Box::new(stream),
            certificate: own.to_vec(),
        }),
        Err(error) => Err(error_of(&error)),
    }
}

fn roots(provider: &Arc<CryptoProvider>) -> Result<Arc<WebPkiServerVerifier>, Error> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|_| Error::NoRoots)
}

fn error_of(error: &io::Error) -> Error {
    let inner = error.get_ref();
    match inner.and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(CertificateError::Other(ours))) => {
            Error::Certificate(ours.to_string())
        }
        Some(rustls::Error::InvalidCertificate(_)) => {
            Error::Certificate("it did not sign the handshake".into())
        }
        Some(error) => Error::Tls(text_of(error)),
        None => Error::Tls(error.kind().to_string()),
    }
}

/// What went wrong, without a word of the peer's.
fn text_of(error: &rustls::Error) -> String {
    match error {
        rustls::Error::AlertReceived(_) => "it ended the handshake".into(),
        rustls::Error::PeerIncompatible(_) => "no version or cipher in common".into(),
        _ => "its handshake is broken".into(),
    }
}

/// Why a certificate is not believed.
#[derive(Debug, thiserror::Error)]
enum Unbelieved {
    #[error("its SHA-256 is {shown}, which is not the one pinned")]
    NotPinned { shown: Sha256 },
    #[error("{why}; if it is the server's own, pin it: --tls-pin {shown}")]
    NotRooted { why: &'static str, shown: Sha256 },
}

impl From<Unbelieved> for rustls::Error {
    fn from(error: Unbelieved) -> Self {
        CertificateError::Other(OtherError(Arc::new(error))).into()
    }
}

/// Believes one certificate, whatever it says.
#[derive(Debug)]
struct Pinned {
    pin: Sha256,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = Sha256::of(leaf);
        if shown == self.pin {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(Unbelieved::NotPinned { shown }.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, leaf, signed, schemes)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let schemes = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, leaf, signed, schemes)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let schemes = &self.provider.signature_verification_algorithms;
        schemes.supported_schemes()
    }
}

/// Believes what the system's roots vouch for, and says why not in our words: rustls's would quote
/// names of the certificate.
#[derive(Debug)]
struct Rooted(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for Rooted {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.0.verify_server_cert(leaf, between, name, ocsp, now);
        verified.map_err(|error| {
            let why = match &error {
                rustls::Error::InvalidCertificate(error) => why(error),
                _ => "it is broken",
            };
            let shown = Sha256::of(leaf);
            Unbelieved::NotRooted { why, shown }.into()
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, leaf, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, leaf, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

const fn why(error: &CertificateError) -> &'static str {
    use CertificateError as E;
    match error {
        E::Expired | E::ExpiredContext { .. } => "it has expired",
        E::NotValidYet | E::NotValidYetContext { .. } => "it is not valid yet",
        E::NotValidForName | E::NotValidForNameContext { .. } => "it is for another name",
        E::UnknownIssuer | E::BadSignature => "no root of this system vouches for it",
        E::Revoked => "it was revoked",
        _ => "it is broken, or not made for a server",
    }
}
