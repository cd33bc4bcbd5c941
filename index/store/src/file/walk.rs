//! Which files of a folder are objects, in the byte order of their keys?

use std::{fs, path::Path};

use super::{at, is_absent};
use crate::{Listed, StoreError};

/// A walk over the files in the byte order of their keys.
pub(super) struct Walk<'a> {
    pub(super) prefix: &'a str,
    pub(super) after: &'a str,
    pub(super) limit: usize,
    pub(super) found: Vec<Listed>,
}

impl Walk<'_> {
    /// Lists the files below `folder`, whose keys begin with `stem`.
    pub(super) fn folder(&mut self, folder: &Path, stem: &str) -> Result<(), StoreError> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(at("list", folder)(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(at("list", folder))?;
            let kind = entry.file_type().map_err(at("list", folder))?;
            // What is no key was not put here by a store.
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            if name.starts_with('.') {
                continue;
            }
            // The slash makes a folder sort where its keys do: `a.b` comes before `a/b`.
            let slash = if kind.is_dir() { "/" } else { "" };
            names.push(format!("{stem}{name}{slash}"));
        }
        names.sort_unstable();
        for name in names {
            if self.found.len() >= self.limit {
                break;
            }
            let path = folder.join(name[stem.len()..].trim_end_matches('/'));
            if name.ends_with('/') {
                let may_hold = name.starts_with(self.prefix) || self.prefix.starts_with(&name);
                let is_past = self.after < name.as_str() || self.after.starts_with(&name);
                if may_hold && is_past {
                    self.folder(&path, &name)?;
                }
            } else if name.starts_with(self.prefix) && self.after < name.as_str() {
                match fs::metadata(&path) {
                    Ok(found) => self.found.push(Listed {
                        key: name,
                        bytes: found.len(),
                    }),
                    Err(error) if is_absent(&error) => {}
                    Err(error) => return Err(at("look at", &path)(error)),
                }
            }
        }
        Ok(())
    }
}
