//! What we ask a server for (MS-RDPBCGR section 2.2.11).

use capture::Rect;
use ironrdp_pdu::{
    geometry::InclusiveRectangle,
    rdp::{headers::ShareDataPdu, refresh_rectangle::RefreshRectanglePdu},
};

/// Asks that `rect`, which is not empty, be drawn again.
pub(crate) fn refresh(rect: Rect) -> ShareDataPdu {
    let edge = |at: u32| u16::try_from(at).unwrap_or(u16::MAX);
    ShareDataPdu::RefreshRectangle(RefreshRectanglePdu {
        areas_to_refresh: vec![InclusiveRectangle {
            left: edge(rect.x),
            top: edge(rect.y),
            right: edge(rect.right().saturating_sub(1)),
            bottom: edge(rect.bottom().saturating_sub(1)),
        }],
    })
}
