//! What does a proxy prove to be? What the owner's certificate says, or one that this program has
//! made for itself, once, so that clients can pin it.

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use segment::Sha256;
use serde::{Deserialize, Serialize};
use tokio_rustls::rustls::{
    self, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
};

/// A certificate, those that vouch for it, and its key. `Debug` hides the key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Certificate {
    chain_pem: String,
    key_pem: String,
}

/// Why there is no certificate to show. It never shows a file's content.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    #[error("reading {}", file.display())]
    Read {
        file: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("keeping a certificate in {}", folder.display())]
    Keep {
        folder: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("making a certificate")]
    Make(#[source] rcgen::Error),
    #[error("certificate is not in PEM; `openssl x509 -inform der` turns one into it")]
    NoCertificate,
    #[error("key is not in PEM, or encrypted; `openssl pkey` turns one into it")]
    NoKey,
    #[error("certificate and key do not belong together")]
    Strangers,
    #[error("certificate or key cannot be used for TLS: {0}")]
    Unusable(rustls::Error),
}

/// The files of a certificate of our own, in a folder that appears whole.
const FOLDER: &str = "proxy-certificate";
const CERTIFICATE: &str = "certificate.pem";
const KEY: &str = "key.pem";

impl Certificate {
    /// The owner's.
    pub(crate) fn read(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let read = |file: &Path| {
            fs::read_to_string(file).map_err(|cause| CertificateError::Read {
                file: file.to_owned(),
                cause,
            })
        };
        let certificate = Self {
            chain_pem: read(certificate)?,
            key_pem: read(key)?,
        };
        certificate.server()?;
        Ok(certificate)
    }

    /// The one that is kept below `home`, which is made if there is none.
    pub(crate) fn own(home: &Path) -> Result<Self, CertificateError> {
        let folder = home.join(FOLDER);
        if !folder.exists() {
            let made = Self::make().map_err(CertificateError::Make)?;
            made.keep(home, &folder)
                .map_err(|cause| CertificateError::Keep {
                    folder: folder.clone(),
                    cause,
                })?;
        }
        Self::read(&folder.join(CERTIFICATE), &folder.join(KEY))
    }

    /// A new one, for this host, which vouches for itself.
    fn make() -> Result<Self, rcgen::Error> {
        let system = rustix::system::uname();
        let host = system.nodename().to_string_lossy();
        let key = rcgen::KeyPair::generate()?;
        let names = [host.as_ref(), "localhost"].map(str::to_owned);
        let mut params = rcgen::CertificateParams::new(names)?;
        params.distinguished_name = rcgen::DistinguishedName::new();
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, host.as_ref());
        params
            .distinguished_name
            .push(rcgen::DnType::OrganizationalUnitName, "Playhead proxy");
        Ok(Self {
            chain_pem: params.self_signed(&key)?.pem(),
            key_pem: key.serialize_pem(),
        })
    }

    /// Puts it into `folder`, unless another process has put its own there meanwhile.
    fn keep(&self, home: &Path, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(home)?;
        let unfinished = home.join(format!("{FOLDER}.{}", std::process::id()));
        match fs::remove_dir_all(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {} // a process that died had this one's number
        }
        fs::DirBuilder::new().mode(0o700).create(&unfinished)?;
        for (name, text) in [(CERTIFICATE, &self.chain_pem), (KEY, &self.key_pem)] {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(unfinished.join(name))?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
        }
        match fs::rename(&unfinished, folder) {
            Err(_) if folder.exists() => fs::remove_dir_all(&unfinished),
            renamed => renamed,
        }
    }

    /// The SHA-256 of its DER form, by which clients pin it.
    pub(crate) fn fingerprint(&self) -> Result<Sha256, CertificateError> {
        Ok(Sha256::of(&self.leaf()?))
    }

    /// The certificate itself, in DER.
    pub(crate) fn leaf(&self) -> Result<Vec<u8>, CertificateError> {
        let leaf = CertificateDer::from_pem_slice(self.chain_pem.as_bytes());
        let leaf = leaf.map_err(|_| CertificateError::NoCertificate)?;
        Ok(leaf.to_vec())
    }

    /// How TLS is spoken to who connects.
    pub(crate) fn server(&self) -> Result<ServerConfig, CertificateError> {
        let chain = CertificateDer::pem_slice_iter(self.chain_pem.as_bytes());
        let chain: Result<Vec<_>, _> = chain.collect();
        let chain = chain.map_err(|_| CertificateError::NoCertificate)?;
        if chain.is_empty() {
            return Err(CertificateError::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(self.key_pem.as_bytes());
        let key = key.map_err(|_| CertificateError::NoKey)?;
        let refuse = |error: rustls::Error| match error {
            rustls::Error::InconsistentKeys(_) => CertificateError::Strangers,
            error => CertificateError::Unusable(error),
        };
        ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key))
            .map_err(refuse)
    }
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Certificate(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn our_own_is_made_once_and_its_key_is_its_owners_alone() {
        let home = tempfile::tempdir().unwrap();
        let first = Certificate::own(home.path()).unwrap();
        let again = Certificate::own(home.path()).unwrap();
        assert_eq!(first.fingerprint().unwrap(), again.fingerprint().unwrap());
        let key = home.path().join(FOLDER).join(KEY);
        let mode = fs::metadata(key).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn who_comes_second_takes_the_first_ones() {
        let home = tempfile::tempdir().unwrap();
        let first = Certificate::own(home.path()).unwrap();
        let second = Certificate::make().unwrap();
        second.keep(home.path(), &home.path().join(FOLDER)).unwrap();
        let kept = Certificate::own(home.path()).unwrap();
        assert_eq!(kept.fingerprint().unwrap(), first.fingerprint().unwrap());
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_owners_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = folder.path().join(name);
            fs::write(&file, text).unwrap();
            file
        };
        let (ours, other) = (Certificate::make().unwrap(), Certificate::make().unwrap());
        let good = (
            file("certificate", &ours.chain_pem),
            file("key", &ours.key_pem),
        );
        let check = |certificate: &Path, key: &Path, expected: &str| {
            let error = Certificate::read(certificate, key).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        assert!(Certificate::read(&good.0, &good.1).is_ok());
        check(&file("other", &other.chain_pem), &good.1, "belong together");
        check(&good.1, &good.1, "certificate is not in PEM");
        check(&good.0, &good.0, "key is not in PEM");
        check(Path::new("/nowhere"), &good.1, "/nowhere");
    }

    #[test]
    fn debug_hides_the_key() {
        let made = Certificate::make().unwrap();
        assert_eq!(format!("{made:?}"), "Certificate(…)");
    }
}
