//! What every answer says to browsers, and which requests a server without sign-in lets in
//! (access.md, "Headers" and "Local by default").

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

use super::ApiError;

const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; media-src 'self' blob:; \
    img-src 'self' blob: data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/// Adds the headers that keep recorded, hostile content from doing anything in a browser.
pub(super) async fn secure(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What is recorded is not for shared caches, and answers that say nothing are not kept.
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The names under which a server without sign-in is reached.
#[derive(Clone, Debug)]
pub struct LocalNames(Vec<String>);

impl LocalNames {
    /// Loopback names only.
    #[must_use]
    pub fn loopback() -> Self {
        Self(["localhost", "127.0.0.1", "[::1]"].map(Into::into).to_vec())
    }

    fn hold(&self, authority: &str) -> bool {
        let port = authority.rsplit_once(':').filter(|(_, port)| is_port(port));
        let host = port.map_or(authority, |(host, _)| host);
        self.0.iter().any(|name| host.eq_ignore_ascii_case(name))
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

/// Refuses what a foreign web page could send to a server that asks for no sign-in: requests
/// under a name that only points here (DNS rebinding), and writes from another origin.
pub(super) async fn only_local(
    State(names): State<LocalNames>,
    request: Request,
    next: Next,
) -> Response {
    match foreign(&names, &request) {
        Some(message) => {
            ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", message).into_response()
        }
        None => next.run(request).await,
    }
}

fn foreign(names: &LocalNames, request: &Request) -> Option<&'static str> {
    let text = |headers: &HeaderMap, name| {
        let value: Option<&HeaderValue> = headers.get(name);
        value.map(|value| value.to_str().unwrap_or_default().to_owned())
    };
    let host = text(request.headers(), header::HOST);
    if host.as_ref().is_some_and(|host| !names.hold(host)) {
        return Some("This server is reached as localhost only.");
    }
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS].contains(request.method());
    let origin = text(request.headers(), header::ORIGIN)?;
    let own = origin.strip_prefix("http://") == host.as_deref();
    (!reads && !own).then_some("A page of another origin may not write here.")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, headers: &[(&str, &str)], allowed: bool) {
        let mut request = axum::http::Request::builder().method(method.clone());
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(axum::body::Body::empty()).unwrap();
        let refusal = foreign(&LocalNames::loopback(), &request);
        assert_eq!(refusal.is_none(), allowed, "{method} {headers:?}");
    }

    #[test]
    fn only_loopback_names_are_answered() {
        check(Method::GET, &[("host", "127.0.0.1:8900")], true);
        check(Method::GET, &[("host", "localhost")], true);
        check(Method::GET, &[("host", "[::1]:8900")], true);
        check(Method::GET, &[("host", "rebound.example:8900")], false);
        check(Method::GET, &[("host", "127.0.0.1.example")], false);
    }

    #[test]
    fn pages_of_other_origins_cannot_write() {
        let host = ("host", "127.0.0.1:8900");
        check(Method::POST, &[host], true);
        check(
            Method::POST,
            &[host, ("origin", "http://127.0.0.1:8900")],
            true,
        );
        check(
            Method::POST,
            &[host, ("origin", "https://e.example")],
            false,
        );
        check(Method::POST, &[host, ("origin", "null")], false);
        let other_port = ("origin", "http://127.0.0.1:3000");
        check(Method::POST, &[host, other_port], false);
    }
}
