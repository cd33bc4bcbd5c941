//! Rows that the catalogue is still to be told of, one file each: `{seq:08}.row` names an object
//! that is in the store.

use std::io;

use segment::end::ObjectEntry;
use serde::{Deserialize, Serialize};

use super::Folder;

/// An object without a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OwedRow {
    /// The object.
    pub(crate) entry: ObjectEntry,
    /// Its sprite sheet.
    pub(crate) thumb: Option<ObjectEntry>,
}

const ENDING: &str = ".row";

fn name(seq: u64) -> String {
    format!("{seq:08}{ENDING}")
}

impl Folder {
    /// The numbers of the objects whose rows are owed, in order.
    pub(crate) fn owed_rows(&self) -> io::Result<Vec<u64>> {
        self.numbered(ENDING)
    }

    /// Notes that the row of object `seq` is owed.
    pub(crate) fn owe_row(&self, seq: u64, row: &OwedRow) -> io::Result<()> {
        self.write(&name(seq), &serde_json::to_vec(row)?)
    }

    /// The row that is owed for object `seq`.
    pub(crate) fn owed_row(&self, seq: u64) -> io::Result<Option<OwedRow>> {
        self.read_json(&name(seq))
    }

    /// The row of object `seq` is written.
    pub(crate) fn forget_row(&self, seq: u64) -> io::Result<()> {
        std::fs::remove_file(self.path.join(name(seq)))
    }
}
