//! Whom does a client believe? Certificates made for one test, by openssl.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

/// A certificate authority of the test's own.
#[derive(Debug)]
pub struct Authority {
    folder: PathBuf,
    root: PathBuf,
}

/// When a certificate is good.
#[derive(Clone, Copy, Debug)]
pub enum Days {
    /// Now.
    Valid,
    /// Until yesterday.
    Expired,
}

/// A certificate and its key.
#[derive(Debug)]
pub struct Certificate {
    folder: PathBuf,
    name: String,
}

const KEY: [&str; 5] = [
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
];

impl Authority {
    /// One with its files in `folder`.
    ///
    /// # Errors
    /// When openssl fails.
    pub fn new(folder: &Path) -> anyhow::Result<Self> {
        std::fs::create_dir_all(folder)?;
        let about = ["-x509", "-subj", "/CN=test authority", "-days", "2"];
        let files = ["-keyout", "root.key", "-out", "root.pem"];
        let is_one = ["-addext", "basicConstraints=critical,CA:true"];
        let request: Vec<&str> = [&["req"], &about[..], &KEY, &files, &is_one].concat();
        openssl(folder, &request)?;
        Ok(Self {
            folder: folder.to_owned(),
            root: folder.join("root.pem"),
        })
    }

    /// The file of its own certificate, for who believes it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The pin of its own certificate.
    ///
    /// # Errors
    /// When openssl fails.
    pub fn pin(&self) -> anyhow::Result<String> {
        pin(&self.folder, "root.pem")
    }

    /// A certificate that it vouches for, for a subject such as `IP:127.0.0.1`.
    ///
    /// # Errors
    /// When openssl fails.
    pub fn issue(&self, name: &str, subject: &str, days: Days) -> anyhow::Result<Certificate> {
        let (key, request) = (format!("{name}.key"), format!("{name}.csr"));
        let (pem, extension) = (format!("{name}.pem"), format!("{name}.ext"));
        let about = ["-subj", "/CN=desk", "-keyout", &key, "-out", &request];
        openssl(&self.folder, &[&["req"], &KEY[..], &about].concat())?;
        let subject = format!("subjectAltName={subject}\n");
        std::fs::write(self.folder.join(&extension), subject)?;
        let days = match days {
            Days::Valid => "2",
            Days::Expired => "-1",
        };
        let by = ["-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial"];
        let about = ["-days", days, "-extfile", &extension];
        let files = ["-in", &request, "-out", &pem];
        openssl(
            &self.folder,
            &[&["x509", "-req"], &by[..], &about, &files].concat(),
        )?;
        Ok(Certificate {
            folder: self.folder.clone(),
            name: name.to_owned(),
        })
    }
}

impl Certificate {
    /// What it was called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The files of certificate and key, for a server.
    #[must_use]
    pub fn files(&self) -> (String, String) {
        let path = |ending| self.folder.join(format!("{}.{ending}", self.name));
        let text = |ending| path(ending).to_string_lossy().into_owned();
        (text("pem"), text("key"))
    }

    /// Its pin, as openssl prints fingerprints.
    ///
    /// # Errors
    /// When openssl fails.
    pub fn pin(&self) -> anyhow::Result<String> {
        pin(&self.folder, &format!("{}.pem", self.name))
    }
}

fn pin(folder: &Path, pem: &str) -> anyhow::Result<String> {
    let shown = openssl(
        folder,
        &["x509", "-in", pem, "-noout", "-fingerprint", "-sha256"],
    )?;
    let (_, pin) = shown.split_once('=').context("no fingerprint")?;
    Ok(pin.trim().to_owned())
}

fn openssl(folder: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new("openssl")
        .args(arguments)
        .current_dir(folder)
        .output()
        .context("openssl")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "openssl {arguments:?}: {said}");
    Ok(String::from_utf8(output.stdout)?)
}
