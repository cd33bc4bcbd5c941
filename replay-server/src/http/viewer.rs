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
    if method != Method::GET && method != Method::HEAD {
        return super::wrong_method().await.into_response();
    }
    answer(FILES, uri.path().trim_start_matches('/'), &headers)
}

fn answer(files: &[Asset], path: &str, headers: &HeaderMap) -> Response {
    let file = |path| files.iter().find(|asset| asset.path == path);
    if path.is_empty() {
        return Redirect::temporary("/sessions").into_response();
    }
    if let Some(asset) = file(path) {
        return send(asset, headers);
    }
    if !is_page(path) {
        return ApiError::not_found("unknown_page", "There is no such page.").into_response();
    }
    match file("index.html") {
        Some(index) => send(index, headers),
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
        let refused = weight.trim().trim_start_matches("q=").parse() == Ok(0.0);
        name.trim().eq_ignore_ascii_case(coding) && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[Asset] = &[
        Asset {
            path: "assets/main-1.js",
            content_type: "text/javascript; charset=utf-8",
            bytes: b"plain",
            brotli: Some(b"br"),
            gzip: Some(b"gz"),
        },
        Asset {
            path: "index.html",
            content_type: "text/html; charset=utf-8",
            bytes: b"page",
            brotli: None,
            gzip: None,
        },
    ];

    fn check(path: &str, status: u16, kept: &str) {
        let response = answer(FILES, path, &HeaderMap::new());
        assert_eq!(response.status().as_u16(), status, "{path}");
        let header = response.headers().get(header::CACHE_CONTROL);
        let header = header.map_or("", |value| value.to_str().unwrap());
        assert_eq!(header, kept, "{path}");
    }

    #[test]
    fn deep_links_are_the_page_and_other_paths_are_not() {
        for path in ["sessions", "s/x", "e/1", "t/a/b", "r/run", "index.html"] {
            check(path, 200, "no-store");
        }
        for path in ["favicon.ico", "assets/gone.js", "sx/1", "../etc/passwd"] {
            check(path, 404, "");
        }
        check("assets/main-1.js", 200, FOREVER);
    }

    #[test]
    fn without_a_viewer_the_page_says_what_to_build() {
        let response = answer(&[], "sessions", &HeaderMap::new());
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn the_smallest_form_that_the_client_takes_is_sent() {
        for (accepted, coding) in [
            ("gzip, deflate, br", Some("br")),
            ("gzip", Some("gzip")),
            ("br;q=0, gzip;q=0.5", Some("gzip")),
            ("identity", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accepted));
            let response = answer(FILES, "assets/main-1.js", &headers);
            let sent = response.headers().get(header::CONTENT_ENCODING);
            assert_eq!(
                sent.map(|sent| sent.to_str().unwrap()),
                coding,
                "{accepted}"
            );
        }
    }
}
