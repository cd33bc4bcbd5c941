//! How recorded bytes travel: revalidated on every use, in whole or by range
//! (RFC 9110 sections 8.8, 13 and 14).

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;

use super::ApiError;

/// A part of a recording as a client may keep it.
pub(super) struct Recorded {
    /// A strong validator, with its quotes: equal tags mean equal bytes.
    pub(super) etag: String,
    /// The media type.
    pub(super) content_type: &'static str,
    /// Whether clients must not keep it at all.
    pub(super) no_store: bool,
}

impl Recorded {
    /// The answer to a client that has the bytes already; `None` when it has not.
    pub(super) fn unchanged(&self, request: &HeaderMap) -> Option<Response> {
        let tags = request.get(header::IF_NONE_MATCH)?.to_str().ok()?;
        let known = tags.split(',').map(str::trim).any(|tag| {
            // If-None-Match compares weakly (RFC 9110 13.1.2).
            tag == "*" || tag.strip_prefix("W/").unwrap_or(tag) == self.etag
        });
        known.then(|| self.headed(StatusCode::NOT_MODIFIED, Body::empty()))
    }

    /// `bytes`, or the range of them that the client asks for.
    pub(super) fn answer(&self, request: &HeaderMap, bytes: Bytes) -> Response {
        let len = bytes.len();
        match self.range(request, len) {
            Range::Whole => self.headed(StatusCode::OK, bytes.into()),
            Range::Part { start, end } => {
                let part = bytes.slice(start..end);
                let mut response = self.headed(StatusCode::PARTIAL_CONTENT, part.into());
                let range = format!("bytes {start}-{}/{len}", end - 1);
                insert(&mut response, header::CONTENT_RANGE, &range);
                response
            }
            Range::Outside => {
                let message = format!("There are {len} bytes.");
                let status = StatusCode::RANGE_NOT_SATISFIABLE;
                let mut response = ApiError::new(status, "range_outside", message).into_response();
                insert(
                    &mut response,
                    header::CONTENT_RANGE,
                    &format!("bytes */{len}"),
                );
                response
            }
        }
    }

    fn range(&self, request: &HeaderMap, len: usize) -> Range {
        let text = |name| {
            let value: Option<&HeaderValue> = request.get(name);
            value.and_then(|value| value.to_str().ok())
        };
        let Some(range) = text(header::RANGE) else {
            return Range::Whole;
        };
        match text(header::IF_RANGE) {
            Some(tag) if tag != self.etag => Range::Whole,
            _ => Range::parse(range, len),
        }
    }

    fn headed(&self, status: StatusCode, body: Body) -> Response {
        let mut response = (status, body).into_response();
        let kept = if self.no_store {
            "no-store"
        } else {
            // Every use is asked for, so that access is decided and watching is seen each time.
            "private, no-cache"
        };
        insert(&mut response, header::ETAG, &self.etag);
        insert(&mut response, header::CACHE_CONTROL, kept);
        insert(&mut response, header::ACCEPT_RANGES, "bytes");
        insert(&mut response, header::CONTENT_TYPE, self.content_type);
        response
    }
}

fn insert(response: &mut Response, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Which bytes are asked for; `start..end` is not empty and lies within them.
#[derive(Debug, PartialEq, Eq)]
enum Range {
    Whole,
    Part { start: usize, end: usize },
    Outside,
}

impl Range {
    /// Reads a `Range` header. What is not understood, several ranges too, asks for the whole.
    fn parse(range: &str, len: usize) -> Self {
        let span = range
            .strip_prefix("bytes=")
            .and_then(|span| span.split_once('-'));
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| text.parse().unwrap_or(usize::MAX))
        };
        let (start, end) = match span {
            Some(("", last)) => match number(last) {
                Some(last) => (len.saturating_sub(last), len),
                None => return Self::Whole,
            },
            Some((first, "")) => match number(first) {
                Some(first) => (first, len),
                None => return Self::Whole,
            },
            Some((first, last)) => match (number(first), number(last)) {
                (Some(first), Some(last)) if first <= last => {
                    (first, last.saturating_add(1).min(len))
                }
                _ => return Self::Whole,
            },
            None => return Self::Whole,
        };
        if start < end {
            Self::Part { start, end }
        } else {
            Self::Outside
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: &str, expected: Range) {
        assert_eq!(Range::parse(range, 10), expected, "{range}");
    }

    #[test]
    fn ranges_are_cut_to_what_is_there() {
        let part = |start, end| Range::Part { start, end };
        check("bytes=0-0", part(0, 1));
        check("bytes=2-5", part(2, 6));
        check("bytes=2-", part(2, 10));
        check("bytes=-3", part(7, 10));
        check("bytes=-30", part(0, 10));
        check("bytes=9-99999999999999999999999", part(9, 10));
    }

    #[test]
    fn ranges_past_the_end_cannot_be_satisfied() {
        for range in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            check(range, Range::Outside);
        }
    }

    #[test]
    fn what_is_not_one_range_asks_for_the_whole() {
        for range in [
            "",
            "bytes",
            "bytes=",
            "bytes=5-2",
            "bytes=a-b",
            "bytes=0-1,4-5",
            "ms=0-1",
        ] {
            check(range, Range::Whole);
        }
    }
}
