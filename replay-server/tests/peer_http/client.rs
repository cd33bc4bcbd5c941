//! A client of the server's router, over a session of its own.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, StatusCode},
};
use bytes::Bytes;
use http_body_util::BodyExt;
use replay_server::http::{LocalNames, router};
use serde_json::Value;
use tower::ServiceExt;

use crate::fixture::{h264::read_number, session::Fixture};

pub(crate) struct Client {
    router: Router,
    base: String,
    _fixture: Fixture,
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Client {
    pub(crate) async fn new() -> Self {
        Self::of(Fixture::record(vec![]).await)
    }

    pub(crate) fn of(fixture: Fixture) -> Self {
        Self {
            router: router(fixture.archive.clone(), LocalNames::loopback()),
            base: format!("/api/v1/sessions/{}", fixture.session),
            _fixture: fixture,
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        Answer {
            status: parts.status,
            headers: parts.headers,
            body: body.collect().await.unwrap().to_bytes(),
        }
    }

    /// Gets `path`, below the session unless it is absolute.
    pub(crate) async fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        let uri = if path.starts_with("//") {
            path[1..].to_owned()
        } else {
            format!("{}{path}", self.base)
        };
        let mut request = Request::get(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn ok(&self, path: &str) -> Answer {
        let answer = self.get(path, &[]).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {:?}", answer.body);
        answer
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        serde_json::from_slice(&self.ok(path).await.body).unwrap()
    }

    /// The number on the frame that `path` gives.
    pub(crate) async fn number(&self, path: &str) -> u32 {
        number_on(&self.ok(path).await.body)
    }

    pub(crate) async fn post(&self, rows: impl Into<Body>) -> (StatusCode, Value) {
        let request = Request::post("/api/v1/events").body(rows.into()).unwrap();
        let answer = self.send(request).await;
        (answer.status, serde_json::from_slice(&answer.body).unwrap())
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |v| v.to_str().unwrap())
    }
}

fn number_on(file: &[u8]) -> u32 {
    let picture = image::load_from_memory(file).unwrap().into_rgb8();
    read_number(|x, y| picture.get_pixel_checked(x, y).map(|pixel| pixel.0))
}
