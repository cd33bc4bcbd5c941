//! Serves the viewer, which is built into this binary.

use axum::{
    http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header},
    response::{IntoResponse, Redirect, Response},
};

use super::ApiError;

/// A file of the built viewer.
struct Asset {
    /// Its path below the site's root, without a leading `/`.
    path: &'static str,
    content_type: &'static str,
    bytes: &'static [u8],
    brotli: Option<&'static [u8]>,
    gzip: Option<&'static [u8]>,
}

// `static FILES: &[Asset]`, made by build.rs.
include!(concat!(env!("OUT_DIR"), "/viewer.rs"));

/// Names in assets' paths change with their content.
const FOREVER: &str = "public, max-age=31536000, immutable";

const NOT_BUILT: &str = "The viewer is not built into this binary.\n\
    Build it with `npm ci && npm run build` in web-viewer, then build `playhead` again.\n\
    The API answers meanwhile; /api/openapi.json describes it.\n";

/// Every address that is no call: the viewer's page, or a file of it.
pub(super) async fn page(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let path = uri.path().trim_start_matches('/');
    if method != Method::GET && method != Method::HEAD {
        return super::wrong_method().await.into_response();
    }
    if path.is_empty() {
        return Redirect::temporary("/sessions").into_response();
    }
    if let Some(asset) = FILES.iter().find(|asset| asset.path == path) {
        return send(asset, &headers);
    }
    if !is_page(path) {
        return ApiError::not_found("unknown_page", "There is no such page.").into_response();
    }
    match FILES.iter().find(|asset| asset.path == "index.html") {
        Some(index) => send(index, &headers),
        None => (StatusCode::SERVICE_UNAVAILABLE, NOT_BUILT).into_response(),
    }
}

/// Whether the viewer shows a page at `path`: it reads the rest of the address itself.
fn is_page(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    matches!(
        first,
        "sessions"
            | "s"
            | "e"
            | "t"
            | "r"
            | "audit"
            | "retention"
            | "holds"
            | "policies"
            | "settings"
    )
}

fn send(asset: &Asset, headers: &HeaderMap) -> Response {
    let accepts = |coding| accepts(headers, coding);
    let (bytes, coding) = match (asset.brotli, asset.gzip) {
        (Some(brotli), _) if accepts("br") => (brotli, Some("br")),
        (_, Some(gzip)) if accepts("gzip") => (gzip, Some("gzip")),
        _ => (asset.bytes, None),
    };
    let kept = if asset.path.starts_with("assets/") {
        FOREVER
    } else {
        "no-store"
    };
    let mut response = bytes.into_response();
    let to = response.headers_mut();
    to.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(asset.content_type),
    );
    to.insert(header::CACHE_CONTROL, HeaderValue::from_static(kept));
    to.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if let Some(coding) = coding {
        to.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    response
}

fn accepts(headers: &HeaderMap, coding: &str) -> bool {
    let accepted = headers.get(header::ACCEPT_ENCODING);
    let accepted = accepted.and_then(|value| value.to_str().ok());
    accepted.unwrap_or_default().split(',').any(|item| {
        let (name, weight) = item.split_once(';').unwrap_or((item, ""));
        name.trim().eq_ignore_ascii_case(coding) && !weight.contains("q=0.0") && weight != "q=0"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deep_links_are_pages_and_other_paths_are_not() {
        for path in ["sessions", "s/x", "e/1", "t/a/b", "r/run"] {
            assert!(is_page(path), "{path}");
        }
        for path in ["favicon.ico", "assets/gone.js", "sx/1", "../etc/passwd"] {
            assert!(!is_page(path), "{path}");
        }
    }
}
