//! Where recordings and their catalogue are unless someone says otherwise.

use std::path::{Path, PathBuf};

use clap::Args;

/// The store and catalogue to work on.
#[derive(Args, Clone, Debug, Default)]
pub struct Places {
    /// Where recordings are kept [default: file://$PLAYHEAD_HOME/store]. Where storage has moved,
    /// repeat it: what is new goes into the first
    #[arg(
        long,
        global = true,
        value_name = "URL",
        env = "PLAYHEAD_STORE",
        value_delimiter = ' '
    )]
    store: Vec<String>,
    /// The index over them [default: sqlite://$PLAYHEAD_HOME/catalog.db]
    #[arg(long, global = true, value_name = "URL", env = "PLAYHEAD_CATALOG")]
    catalog: Option<String>,
}

/// No folder for Playhead's files can be told.
#[derive(Debug, thiserror::Error)]
#[error("set PLAYHEAD_HOME to the folder for recordings, or give --store and --catalog")]
pub struct NoHome;

impl Places {
    /// The stores' URLs, that of the one in use and those of older ones. `variable` reads an
    /// environment variable.
    ///
    /// # Errors
    /// When none was given and no home folder is known.
    pub fn stores(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<(String, &[String]), NoHome> {
        match self.store.split_first() {
            Some((first, others)) => Ok((first.clone(), others)),
            None => {
                let folder = home(variable)?.join("store");
                Ok((format!("file://{}", folder.display()), &[]))
            }
        }
    }

    /// The catalogue's URL. `variable` reads an environment variable.
    ///
    /// # Errors
    /// When none was given and no home folder is known.
    pub fn catalog(&self, variable: impl Fn(&str) -> Option<String>) -> Result<String, NoHome> {
        match &self.catalog {
            Some(url) => Ok(url.clone()),
            None => Ok(format!(
                "sqlite://{}",
                home(variable)?.join("catalog.db").display()
            )),
        }
    }
}

/// `PLAYHEAD_HOME`, else the user's data folder (XDG Base Directory Specification).
fn home(variable: impl Fn(&str) -> Option<String>) -> Result<PathBuf, NoHome> {
    let folder = |name: &str| {
        let value = variable(name).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let absolute = |path: &PathBuf| path.is_absolute();
    folder("PLAYHEAD_HOME")
        .map(|path| std::path::absolute(&path).unwrap_or(path))
        .or_else(|| Some(folder("XDG_DATA_HOME").filter(absolute)?.join("playhead")))
        .or_else(|| Some(folder("HOME")?.join(Path::new(".local/share/playhead"))))
        .ok_or(NoHome)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(set: &[(&str, &str)], store: &str) {
        let variable = |name: &str| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        assert_eq!(Places::default().stores(variable).unwrap().0, store);
    }

    #[test]
    fn the_first_folder_that_is_set_is_home() {
        let user = ("HOME", "/home/u");
        check(&[user], "file:///home/u/.local/share/playhead/store");
        check(
            &[user, ("XDG_DATA_HOME", "/data")],
            "file:///data/playhead/store",
        );
        check(
            &[user, ("XDG_DATA_HOME", "relative")],
            "file:///home/u/.local/share/playhead/store",
        );
        check(
            &[user, ("XDG_DATA_HOME", "/data"), ("PLAYHEAD_HOME", "/p")],
            "file:///p/store",
        );
    }

    #[test]
    fn without_any_folder_the_error_says_what_to_set() {
        let error = Places::default().catalog(|_| None).unwrap_err();
        assert!(error.to_string().contains("PLAYHEAD_HOME"));
    }
}
