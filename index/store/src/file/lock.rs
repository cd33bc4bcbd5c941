//! Which objects in a folder may not be deleted? Those with a note below `.lock`, until it allows.
//!
//! This is the same behaviour as a bucket's Object Lock, for whoever goes through Playhead. It
//! guarantees nothing against who can write to the folder: a file system has no such lock.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use capture::WallTime;

use super::{Shared, at, is_absent, sync_folder};
use crate::{Retention, StoreError};

/// Where the notes lie, under the keys of their objects. No key begins with a dot.
const LOCKS: &str = ".lock";
/// Whoever changes a note or deletes holds this file, so that no deletion passes a new note.
const GUARD: &str = ".guard";

/// What keeps an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Note {
    hold: bool,
    retention: Option<(Retention, WallTime)>,
}

impl Shared {
    pub(super) fn delete(&self, key: &str) -> Result<(), StoreError> {
        let _guard = self.guard()?;
        let path = self.root.join(key);
        let note_path = self.root.join(LOCKS).join(key);
        if let Some(note) = read(&note_path)?
            && let Some(by) = note.keeps(self.now()?)
        {
            let key = key.to_owned();
            return Err(StoreError::Locked { key, by });
        }
        // The object first: a note without an object keeps nothing.
        remove(&path)?;
        remove(&note_path)
    }

    pub(super) fn set_hold(&self, key: &str, on: bool) -> Result<(), StoreError> {
        self.change(key, |note| {
            note.hold = on;
            Ok(())
        })
    }

    pub(super) fn set_retention(
        &self,
        key: &str,
        until: WallTime,
        mode: Retention,
    ) -> Result<(), StoreError> {
        let now = self.now()?;
        self.change(key, |note| {
            let running = note.retention.filter(|(_, until)| now < *until);
            let shortens = running.is_some_and(|(kept, kept_until)| {
                until < kept_until || (kept == Retention::Compliance && mode != kept)
            });
            if shortens {
                return Err(StoreError::Locked {
                    key: key.to_owned(),
                    by: note.keeps(now).unwrap_or_default(),
                });
            }
            note.retention = Some((mode, until));
            Ok(())
        })
    }

    /// Changes the note of an object that is there.
    fn change(
        &self,
        key: &str,
        change: impl FnOnce(&mut Note) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let _guard = self.guard()?;
        if !self.root.join(key).is_file() {
            return Err(StoreError::NotFound {
                key: key.to_owned(),
            });
        }
        let path = self.root.join(LOCKS).join(key);
        let mut note = read(&path)?.unwrap_or_default();
        change(&mut note)?;
        if let Some(folder) = path.parent() {
            self.make_folder(folder)?;
        }
        let (temporary, mut file) = self.temporary()?;
        file.write_all(note.to_string().as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(at("write", &temporary))?;
        fs::rename(&temporary, &path).map_err(at("name", &path))?;
        sync_folder(&path)
    }

    /// Held until it is dropped; other processes wait.
    fn guard(&self) -> Result<File, StoreError> {
        self.is_there()?;
        let folder = self.root.join(LOCKS);
        fs::create_dir_all(&folder).map_err(at("make the folder", &folder))?;
        let path = folder.join(GUARD);
        let guard = File::create(&path).map_err(at("write", &path))?;
        guard.lock().map_err(at("lock", &path))?;
        Ok(guard)
    }

    /// The store's own clock, as a bucket has one: when a file that is written now was written.
    fn now(&self) -> Result<WallTime, StoreError> {
        let (path, mut file) = self.temporary()?;
        let modified = file
            .write_all(b"now")
            .and_then(|()| file.metadata()?.modified());
        remove(&path)?;
        let since = modified
            .map_err(at("look at", &path))?
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        Ok(WallTime::from_unix_ms(ms))
    }
}

impl Note {
    /// What keeps the object at `now`.
    fn keeps(self, now: WallTime) -> Option<String> {
        match self {
            Self { hold: true, .. } => Some("a hold".to_owned()),
            Self {
                retention: Some((_, until)),
                ..
            } if now < until => Some(format!("retention until {until}")),
            _ => None,
        }
    }
}

/// One line: `hold` or `-`, then `governance MS`, `compliance MS` or nothing.
impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.hold { "hold" } else { "-" })?;
        match self.retention {
            Some((Retention::Governance, until)) => write!(f, " governance {}", until.unix_ms()),
            Some((Retention::Compliance, until)) => write!(f, " compliance {}", until.unix_ms()),
            None => Ok(()),
        }
    }
}

fn parse(text: &str) -> Option<Note> {
    let mut words = text.split(' ');
    let hold = match words.next()? {
        "hold" => true,
        "-" => false,
        _ => return None,
    };
    let mode = match words.next() {
        None => {
            return Some(Note {
                hold,
                retention: None,
            });
        }
        Some("governance") => Retention::Governance,
        Some("compliance") => Retention::Compliance,
        Some(_) => return None,
    };
    let until = WallTime::from_unix_ms(words.next()?.parse().ok()?);
    let retention = Some((mode, until));
    words.next().is_none().then_some(Note { hold, retention })
}

/// The note at `path`. One that cannot be understood is an error: it may keep something.
fn read(path: &Path) -> Result<Option<Note>, StoreError> {
    match fs::read_to_string(path) {
        Ok(text) => match parse(&text) {
            Some(note) => Ok(Some(note)),
            None => Err(at("understand", path)(ErrorKind::InvalidData.into())),
        },
        Err(error) if is_absent(&error) => Ok(None),
        Err(error) => Err(at("read", path)(error)),
    }
}

fn remove(path: &PathBuf) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Ok(()) => sync_folder(path),
        Err(error) if is_absent(&error) => Ok(()),
        Err(error) => Err(at("delete", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_round_trip() {
        for mode in [Retention::Governance, Retention::Compliance] {
            for hold in [false, true] {
                let retention = Some((mode, WallTime::from_unix_ms(1_800_000_000_000)));
                let note = Note { hold, retention };
                assert_eq!(parse(&note.to_string()), Some(note));
            }
        }
        assert_eq!(parse(&Note::default().to_string()), Some(Note::default()));
    }

    #[test]
    fn what_is_no_note_is_no_freedom() {
        for text in [
            "",
            "x",
            "- x",
            "hold governance",
            "- governance x",
            "- governance 1 2",
        ] {
            assert_eq!(parse(text), None, "{text:?}");
        }
    }
}
