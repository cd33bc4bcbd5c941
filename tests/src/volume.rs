//! A disk so small that a test can fill it.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use rustix::fs::statvfs;

/// A file system in memory, which is gone when this is dropped.
#[derive(Debug)]
pub struct Volume {
    folder: tempfile::TempDir,
}

impl Volume {
    /// One of `size_mib`; `None` where this user may mount none.
    ///
    /// # Errors
    /// When there is no `mount`, or no folder for it.
    pub fn new(size_mib: u32) -> anyhow::Result<Option<Self>> {
        let folder = tempfile::Builder::new()
            .prefix("playhead-disk-")
            .tempdir()?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size_mib}m"), "disk"]);
        let mounted = mount.arg(folder.path()).output().context("mount")?;
        Ok(mounted.status.success().then_some(Self { folder }))
    }

    /// Where it lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Fills it until so much is left.
    ///
    /// # Errors
    /// When there is less than that already.
    pub fn fill_but(&self, left_bytes: u64) -> anyhow::Result<()> {
        let mut filler = File::create(self.folder.path().join("filler"))?;
        let page = vec![0; 4_096];
        while left_bytes < self.free_bytes()? {
            filler.write_all(&page)?;
        }
        Ok(())
    }

    /// Removes what [`fill_but`](Self::fill_but) has put there.
    ///
    /// # Errors
    /// When it did not.
    pub fn free(&self) -> anyhow::Result<()> {
        Ok(std::fs::remove_file(self.folder.path().join("filler"))?)
    }

    /// How much is left.
    ///
    /// # Errors
    /// When it cannot be asked.
    pub fn free_bytes(&self) -> anyhow::Result<u64> {
        let stat = statvfs(self.folder.path())?;
        Ok(stat.f_bavail * stat.f_frsize)
    }

    /// Whether nothing of any session is left below `spool`.
    ///
    /// # Errors
    /// When something is.
    pub fn check_empty(&self, spool: &str) -> anyhow::Result<()> {
        for entry in std::fs::read_dir(self.folder.path().join(spool))? {
            let name = entry?.file_name();
            ensure!(false, "{spool} still holds {}", name.display());
        }
        Ok(())
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        // Lazily: whatever still writes there loses it only with its last file.
        let mut unmount = Command::new("umount");
        let _ = unmount.arg("--lazy").arg(self.folder.path()).status();
    }
}
