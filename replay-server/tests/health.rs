//! Does the server say what it lacks, answer what it can, and go on once it is mended?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use std::{
    io::{Read as _, Write as _},
    net::TcpListener,
    path::PathBuf,
    sync::Arc,
};

use axum::{
    body::Body,
    http::{Request, StatusCode},
};
use capture::{
    SessionId, Size, WallTime,
    session::{RunContext, SessionHead},
    source::Protocol,
};
use http_body_util::BodyExt as _;
use index::{Catalog, commit::commit_head, open_catalog, open_catalog_later, owner};
use replay_server::{
    archive::Archive,
    http::{LocalNames, router},
};
use serde_json::{Value, json};
use store::Store;
use tempfile::TempDir;
use tower::ServiceExt as _;
use uuid::Uuid;

const START_MS: u64 = 1_800_000_000_000;

/// A store with one session, a catalogue that knows it, and a server.
struct Site {
    folder: TempDir,
    store: Arc<dyn Store>,
    archive: Arc<Archive>,
}

/// Each time a second later, so that no answer is an old one.
fn now() -> WallTime {
    use std::sync::atomic::{AtomicI64, Ordering};
    static MS: AtomicI64 = AtomicI64::new(1_800_000_000_000);
    WallTime::from_unix_ms(MS.fetch_add(1_000, Ordering::Relaxed))
}

impl Site {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("file://{}", folder.path().join("store").display());
        let store = store::open_store(&url).unwrap();
        let catalog = open_catalog_later(&catalogue_url(&folder, "catalog.db")).unwrap();
        let site = Self {
            archive: Arc::new(Archive::new(store.clone(), catalog.clone(), now)),
            folder,
            store,
        };
        site.record(&*catalog).await;
        site.claim().await;
        site
    }

    /// The same catalogue and another store.
    fn over(self, url: &impl Fn(&TempDir) -> String) -> Self {
        let key = |name: &str| name.starts_with("AWS_").then(|| "test".to_owned());
        let store = store::open_store_with(&url(&self.folder), key).unwrap();
        let catalog = self.archive.catalog.clone();
        Self {
            archive: Arc::new(Archive::new(store.clone(), catalog, now)),
            store,
            ..self
        }
    }

    /// Rows cannot be taken in, and the answer says so in the API's form.
    async fn refuses_rows(&self, code: &str) {
        let row = r#"{"time":"2026-11-30T09:14:03.250Z","text":"Save"}"#;
        let router = router(self.archive.clone(), LocalNames::loopback());
        let request = Request::post("/api/v1/events").body(Body::from(row));
        let response = router.oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key("retry-after"));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let said: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(said["error"]["code"], code, "{said}");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn record(&self, catalog: &dyn Catalog) {
        let head = SessionHead {
            format: SessionHead::FORMAT,
            id: SessionId::new(START_MS, [1; 10]),
            start: WallTime::from_unix_ms(i64::try_from(START_MS).unwrap()),
            protocol: Protocol::Vnc,
            source: "vnc://127.0.0.1:5901".into(),
            server_name: "desk".into(),
            size: Size::new(64, 48),
            fps_max: 15,
            policy: None,
            recorder: "test".into(),
            context: RunContext::default(),
        };
        commit_head(&*self.store, catalog, &head).await.unwrap();
    }

    async fn claim(&self) {
        let (store, catalog) = (&*self.archive.store, &*self.archive.catalog);
        let claimed = owner::claim(store, catalog, Uuid::from_u128(1)).await;
        claimed.unwrap();
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        let router = router(self.archive.clone(), LocalNames::loopback());
        let request = Request::get(path).body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn json(&self, path: &str) -> (StatusCode, Value) {
        let (status, body) = self.get(path).await;
        (status, serde_json::from_str(&body).unwrap())
    }

    /// The server is not ready because of `part`, as `code` says; it lives all the same.
    async fn check(&self, part: &str, code: &str) {
        let (status, said) = self.json("/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{said}");
        assert_eq!(
            (&said["ready"], &said[part]["code"]),
            (&json!(false), &json!(code)),
            "{said}"
        );
        assert!(
            said[part]["message"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert_eq!(self.get("/healthz").await.0, StatusCode::OK);
    }

    async fn check_ready(&self) {
        let (status, said) = self.json("/readyz").await;
        assert_eq!(status, StatusCode::OK, "{said}");
        let ok = json!({ "ok": true, "code": "ok" });
        let all = json!({ "ready": true, "store": ok, "catalogue": ok, "owner": ok });
        assert_eq!(said, all);
    }
}

/// A bucket of a service that answers each request with `answer`, or nothing at all.
fn bucket_url(answer: Option<&'static str>) -> impl Fn(&TempDir) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        for mut connection in listener.incoming().map_while(Result::ok) {
            match answer {
                Some(answer) => {
                    let _ = connection.read(&mut [0; 16_384]);
                    let _ = connection.write_all(answer.as_bytes());
                }
                None => silent.push(connection),
            }
        }
    });
    move |_| format!("s3://bucket?endpoint=http://127.0.0.1:{port}")
}

fn file_url(name: &'static str) -> impl Fn(&TempDir) -> String {
    move |folder| format!("file://{}", folder.path().join(name).display())
}

fn catalogue_url(folder: &TempDir, name: &str) -> String {
    format!("sqlite://{}", folder.path().join(name).display())
}

#[tokio::test]
async fn a_server_that_can_answer_is_ready() {
    Site::new().await.check_ready().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_catalogue_is_told_and_read_all_the_same() {
    let site = Site::new().await;
    let other = rusqlite::Connection::open(site.path("catalog.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    site.check("catalogue", "catalogue_busy").await;
    let (status, listed) = site.json("/api/v1/sessions").await;
    assert_eq!(
        (status, listed["sessions"].as_array().unwrap().len()),
        (StatusCode::OK, 1)
    );
    other.execute_batch("rollback").unwrap();
    site.check_ready().await;
}

#[tokio::test]
async fn a_damaged_catalogue_is_told_and_a_new_one_used_without_a_restart() {
    let site = Site::new().await;
    let url = catalogue_url(&site.folder, "other.db");
    std::fs::write(site.path("other.db"), vec![b'x'; 8192]).unwrap();
    let catalog = open_catalog_later(&url).unwrap();
    let broken = Site {
        archive: Arc::new(Archive::new(site.store.clone(), catalog, now)),
        store: site.store.clone(),
        folder: site.folder,
    };
    broken.check("catalogue", "catalogue_damaged").await;
    let (status, said) = broken.json("/api/v1/sessions").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(said["error"]["code"], "catalogue_damaged");
    let counted = broken.get("/metrics").await.1;
    assert!(
        counted.contains(r#"playhead_catalogue_errors_total{fault="broken"} "#),
        "{counted}"
    );
    std::fs::remove_file(broken.path("other.db")).unwrap();
    broken.record(&*open_catalog(&url).unwrap()).await;
    broken.claim().await;
    broken.check_ready().await;
    assert_eq!(broken.get("/api/v1/sessions").await.0, StatusCode::OK);
}

#[tokio::test]
async fn an_empty_catalogue_beside_a_full_store_is_told_everywhere() {
    let site = Site::new().await;
    let catalog = open_catalog(&catalogue_url(&site.folder, "lost.db")).unwrap();
    let lost = Site {
        archive: Arc::new(Archive::new(site.store.clone(), catalog, now)),
        store: site.store.clone(),
        folder: site.folder,
    };
    lost.check("owner", "catalogue_unclaimed").await;
    lost.claim().await;
    lost.check("owner", "catalogue_empty").await;
    let (status, listed) = lost.json("/api/v1/sessions").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(listed["notice"]["code"], "catalogue_empty");
    let said = listed["notice"]["message"].as_str().unwrap();
    assert!(said.contains("playhead index rebuild"), "{said}");
}

#[tokio::test]
async fn a_catalogue_of_another_store_is_told() {
    let site = Site::new().await;
    let url = format!("file://{}", site.path("elsewhere").display());
    let store = store::open_store(&url).unwrap();
    owner::mark(&*store, Uuid::from_u128(2)).await.unwrap();
    let foreign = Site {
        archive: Arc::new(Archive::new(
            store.clone(),
            site.archive.catalog.clone(),
            now,
        )),
        store,
        folder: site.folder,
    };
    foreign.check("owner", "catalogue_foreign").await;
}

#[tokio::test]
async fn a_store_whose_folder_goes_is_told_as_a_store_that_fails() {
    let site = Site::new().await;
    std::fs::remove_dir_all(site.path("store")).unwrap();
    site.check("store", "store_failed").await;
    std::fs::create_dir(site.path("store")).unwrap(); // as where it was unmounted
    site.check("store", "store_failed").await;
    site.refuses_rows("store_failed").await;
    assert_eq!(site.get("/api/v1/sessions").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_store_that_was_not_mounted_at_start_is_told_and_gets_no_marker() {
    let site = Site::new().await;
    std::fs::remove_dir_all(site.path("store")).unwrap();
    let site = site.over(&file_url("store"));
    site.check("owner", "store_unmarked").await;
    let (store, catalog) = (&*site.archive.store, &*site.archive.catalog);
    let claimed = owner::claim(store, catalog, Uuid::from_u128(2)).await;
    assert!(claimed.is_err());
    assert!(store.head(owner::OWNER_KEY).await.unwrap().is_none());
}

#[tokio::test]
async fn a_bucket_that_refuses_or_is_silent_is_told() {
    let site = Site::new().await;
    let refusal = "HTTP/1.1 500 I\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    let site = site.over(&bucket_url(Some(refusal)));
    site.check("store", "store_failed").await;
    site.refuses_rows("store_failed").await;
    let site = site.over(&bucket_url(None));
    site.check("store", "store_silent").await;
}

#[tokio::test]
async fn requests_are_counted_by_pattern_and_never_by_address() {
    let site = Site::new().await;
    for n in 0..3 {
        let id = SessionId::new(START_MS + n, [2; 10]);
        site.get(&format!("/api/v1/sessions/{id}")).await;
        site.get(&format!("/nowhere/{n}")).await;
    }
    let (status, counted) = site.get("/metrics").await;
    assert_eq!(status, StatusCode::OK);
    for line in [
        "playhead_http_requests_total{method=\"GET\",route=\"/api/v1/sessions/{session}\",status=\"404\"} 3",
        "playhead_http_request_duration_seconds_count{route=\"/api/v1/sessions/{session}\"} 3",
        "# UNIT playhead_http_request_duration_seconds seconds",
        "# TYPE playhead_http_response_bytes counter",
        "# EOF",
    ] {
        assert!(
            counted.lines().any(|counted| counted == line),
            "{line}\n{counted}"
        );
    }
    assert!(!counted.contains("nowhere"), "{counted}");
}
