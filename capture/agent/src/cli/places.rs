//! Where are things kept?

use std::path::PathBuf;

use clap::Args;

use crate::home;

/// Where things are kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct Places {
    /// Object store, such as file:///var/lib/playhead/store
    #[arg(long, env = "PLAYHEAD_STORE", value_name = "URL", default_value_t = home::store_url())]
    pub(crate) store: String,
    /// Catalogue, such as sqlite:///var/lib/playhead/catalog.db
    #[arg(long, env = "PLAYHEAD_CATALOG", value_name = "URL", default_value_t = home::catalog_url())]
    pub(crate) catalog: String,
    /// Folder for what is not yet in the store
    #[arg(long, env = "PLAYHEAD_SPOOL", value_name = "DIR", default_value_os_t = home::dir().join("spool"))]
    pub(crate) spool: PathBuf,
}
