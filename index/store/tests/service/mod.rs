//! What every S3 service that we run against must pass.

use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use aws_sdk_s3::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
};
use aws_smithy_http_client::tls::{self, rustls_provider::CryptoMode};
use bytes::Bytes;
use capture::WallTime;
use store::{Store, conformance, open_store_with, probe, probe_lock};

/// A service and the key it knows.
pub(crate) struct Service {
    pub(crate) endpoint: String,
    pub(crate) id: &'static str,
    pub(crate) secret: &'static str,
}

impl Service {
    /// The store at `place`, a bucket and a prefix.
    pub(crate) fn open(&self, place: &str) -> Arc<dyn Store> {
        let url = format!("s3://{place}?endpoint={}", self.endpoint);
        let variable = |name: &str| match name {
            "AWS_ACCESS_KEY_ID" => Some(self.id.to_owned()),
            "AWS_SECRET_ACCESS_KEY" => Some(self.secret.to_owned()),
            _ => None,
        };
        open_store_with(&url, variable).unwrap()
    }

    async fn make_bucket(&self, name: &str, lock: bool) {
        let http = aws_smithy_http_client::Builder::new()
            .tls_provider(tls::Provider::Rustls(CryptoMode::Ring))
            .build_https();
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .http_client(http)
            .credentials_provider(Credentials::new(self.id, self.secret, None, None, "test"))
            .region(Region::new("us-east-1"))
            .force_path_style(true)
            .endpoint_url(&self.endpoint)
            .build();
        let bucket = Client::from_conf(config).create_bucket().bucket(name);
        let made = bucket.object_lock_enabled_for_bucket(lock).send().await;
        made.unwrap();
    }
}

pub(crate) async fn every_promise_is_kept(service: &Service) {
    service.make_bucket("plain", false).await;
    service.make_bucket("locked", true).await;

    for place in ["plain", "locked/some/prefix"] {
        let store = service.open(place);
        probe(&*store).await.unwrap();
        let left = store.list("", None, 10).await.unwrap();
        assert_eq!(left, [], "a probe leaves nothing");
        conformance::suite(Arc::clone(&store)).await.unwrap();
        a_listing_comes_in_pages(&*store).await;
    }
    let beside = service.open("locked/some/pre");
    let seen = beside.list("", None, 10).await.unwrap();
    assert_eq!(seen, [], "a prefix is a folder, not a beginning");

    let store = service.open("locked/lock");
    conformance::lock_suite(&*store, now()).await.unwrap();
    for _ in 0..2 {
        probe_lock(&*store, now()).await.unwrap();
    }
    let left = store.list("probe/", None, 10).await.unwrap();
    assert_eq!(left.len(), 1, "{left:?}");
    let without = probe_lock(&*service.open("plain"), now()).await;
    let error = without.unwrap_err().to_string();
    assert!(error.contains("no Object Lock"), "{error}");

    let absent = probe(&*service.open("not-there")).await;
    let error = absent.unwrap_err().to_string();
    assert!(error.contains("make the bucket"), "{error}");
}

async fn a_listing_comes_in_pages(store: &dyn Store) {
    for n in 0..7 {
        let key = format!("pages/{}/{n}", n % 3);
        let body = Bytes::from_static(b"x");
        store.put_once(&key, body).await.unwrap();
    }
    let mut keys: Vec<String> = Vec::new();
    loop {
        let after = keys.last().map(String::as_str);
        let page = store.list("pages/", after, 3).await.unwrap();
        keys.extend(page.iter().map(|listed| listed.key.clone()));
        if page.len() < 3 {
            break;
        }
    }
    assert!(keys.len() == 7 && keys.is_sorted(), "{keys:?}");
}

#[expect(clippy::disallowed_methods, reason = "the service's clock is this one")]
fn now() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    WallTime::from_unix_ms(since.as_millis().try_into().unwrap())
}
