//! Where recordings are kept and how a moment in them is found.
//!
//! The [object store](::store) is the truth: objects are written once and never change. The
//! [catalogue](catalog) is an index over it that can be dropped and [rebuilt](rebuild). A
//! session's objects become a [timeline]; [event rows](row) are [linked](link) to sessions, and
//! [`resolve`] turns a trace, a row or a clock time into the exact frame.
//!
//! Nothing here reads a clock or makes randomness: the binaries pass both in.

pub mod at;
pub mod catalog;
pub mod check;
pub mod commit;
pub mod density;
pub mod import;
pub mod interrupt;
pub mod link;
pub mod locate;
pub mod log;
pub mod owner;
pub mod rebuild;
pub mod resolve;
pub mod row;
pub mod scan;
pub mod stores;
pub mod timeline;
pub mod verify;

pub use at::At;
pub use catalog::{Catalog, CatalogError, open_catalog, open_catalog_later};
pub use row::EventRow;
pub use stores::Stores;
pub use timeline::Timeline;
