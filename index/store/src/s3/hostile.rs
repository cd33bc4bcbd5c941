//! What if the service refuses, dawdles, lies or never ends? Each is an error in bounded time and
//! memory, and none names a secret. The service here is a script of one answer a request.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use capture::WallTime;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
    time::sleep,
};

use super::{write::ATTEMPTS, *};

const BODY: &[u8] = b"0123456789";

/// What the service does with a request.
#[derive(Clone)]
enum Answer {
    /// Says this and closes.
    Says(String),
    /// Says this and then sends zeros for as long as they are taken.
    Endless(String),
    /// Says this, then one byte now and then.
    Drips(String),
    /// Takes the request and is silent.
    Nothing,
}

/// A service on loopback that answers with the first of `script` whose word is in the request.
struct Service {
    store: S3Store,
    asked: Arc<AtomicUsize>,
    task: AbortHandle,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Service {
    async fn new(script: &[(&'static str, Answer)]) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let store = store(listener.local_addr().unwrap().port());
        let asked = Arc::new(AtomicUsize::new(0));
        let (count, script) = (Arc::clone(&asked), script.to_vec());
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let script = script.clone();
                tokio::spawn(async move { serve(socket, &script).await });
            }
        });
        Self {
            store,
            asked,
            task: task.abort_handle(),
        }
    }
}

fn store(port: u16) -> S3Store {
    let url = format!("s3://bucket/p?endpoint=http://127.0.0.1:{port}");
    let variable = |name: &str| match name {
        "AWS_ACCESS_KEY_ID" => Some("id".to_owned()),
        "AWS_SECRET_ACCESS_KEY" => Some("hunter2".to_owned()),
        _ => None,
    };
    let url = Url::parse(&url).unwrap();
    let mut store = S3Store::open(&url, variable).unwrap();
    store.patience = Patience {
        connect: Duration::from_secs(2),
        answer: Duration::from_secs(2),
        bytes_per_second: 64 * 1024 * 1024,
    };
    store
}

async fn serve(mut socket: TcpStream, script: &[(&str, Answer)]) -> Option<()> {
    let mut request = Vec::new();
    let head = loop {
        if let Some(end) = request.windows(4).position(|w| w == b"\r\n\r\n") {
            break end + 4;
        }
        if socket.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    };
    let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
    let length = text.split("\r\n").find_map(|line| {
        let value = line.strip_prefix("content-length: ")?;
        value.parse::<usize>().ok()
    });
    while request.len() < head + length.unwrap_or(0) {
        if socket.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
    let (_, answer) = script.iter().find(|(word, _)| text.contains(word))?;
    match answer {
        Answer::Says(text) => socket.write_all(text.as_bytes()).await.ok(),
        Answer::Nothing => {
            sleep(Duration::from_secs(60)).await;
            None
        }
        Answer::Endless(text) => {
            socket.write_all(text.as_bytes()).await.ok()?;
            let zeros = vec![0; 1 << 16];
            loop {
                socket.write_all(b"10000\r\n").await.ok()?;
                socket.write_all(&zeros).await.ok()?;
                socket.write_all(b"\r\n").await.ok()?;
            }
        }
        Answer::Drips(text) => {
            socket.write_all(text.as_bytes()).await.ok()?;
            loop {
                sleep(Duration::from_millis(100)).await;
                socket.write_all(b"x").await.ok()?;
            }
        }
    }
}

fn says(status: &str, headers: &str, body: &str) -> Answer {
    Answer::Says(format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn refuses(status: &str, code: &str) -> Answer {
    says(status, "", &format!("<Error><Code>{code}</Code></Error>"))
}

fn endless(status: &str) -> Answer {
    Answer::Endless(format!(
        "HTTP/1.1 {status}\r\ntransfer-encoding: chunked\r\n\r\n"
    ))
}

fn check<T: std::fmt::Debug>(result: Result<T, StoreError>, says: &str) {
    let error = result.unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(told.contains(says), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
    assert!(told.len() < 1500, "{told}");
}

async fn write(store: &S3Store) -> Result<(), StoreError> {
    store.put_once("a", Bytes::from_static(BODY)).await
}

#[tokio::test]
async fn nobody_there_is_told() {
    let port = {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        listener.local_addr().unwrap().port()
    };
    check(write(&store(port)).await, "Connection refused");
}

#[tokio::test]
async fn what_an_operator_can_do_is_told() {
    for (status, code, advice) in [
        ("403 F", "InvalidAccessKeyId", "AWS_ACCESS_KEY_ID"),
        ("403 F", "SignatureDoesNotMatch", "AWS_SECRET_ACCESS_KEY"),
        ("400 B", "ExpiredToken", "AWS_SESSION_TOKEN"),
        ("403 F", "RequestTimeTooSkewed", "clock"),
        ("403 F", "AccessDenied", "right"),
        ("404 N", "NoSuchBucket", "make the bucket"),
        ("301 M", "PermanentRedirect", "region"),
        ("500 I", "InternalError", "look at its log"),
        ("503 S", "SlowDown", "busy"),
    ] {
        let service = Service::new(&[("", refuses(status, code))]).await;
        check(write(&service.store).await, advice);
        check(service.store.get("a").await, advice);
        check(service.store.list("", None, 10).await, advice);
        assert_eq!(
            service.asked.load(Ordering::SeqCst),
            3,
            "{code}: one try each"
        );
    }
}

#[tokio::test]
async fn silence_ends_in_time() {
    let service = Service::new(&[("", Answer::Nothing)]).await;
    check(write(&service.store).await, "within 2s");
    check(service.store.get("a").await, "within 2s");
}

#[tokio::test]
async fn a_slow_drip_ends_in_time() {
    let head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
    let service = Service::new(&[("", Answer::Drips(head.into()))]).await;
    check(service.store.get("a").await, "within 2s");
    check(service.store.list("", None, 10).await, "within 2s");
}

#[tokio::test]
async fn what_does_not_end_is_not_kept() {
    for status in ["200 OK", "500 Internal Server Error"] {
        let service = Service::new(&[("", endless(status))]).await;
        check(service.store.list("", None, 10).await, "");
        check(write(&service.store).await, "");
        check(service.store.get("a").await, "");
    }
    let length = MAX_OBJECT_BYTES + 1;
    let large = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
    let service = Service::new(&[("", Answer::Endless(large))]).await;
    check(service.store.get("a").await, "TooLarge");
}

#[tokio::test]
async fn a_cut_answer_is_no_object() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n0123456789";
    let service = Service::new(&[("", Answer::Says(cut.into()))]).await;
    check(service.store.get("a").await, "broke off");
}

#[tokio::test]
async fn other_content_is_no_object() {
    let digest = format!("x-amz-meta-sha256: {}\r\n", Sha256::of(b"other"));
    let service = Service::new(&[("", says("200 OK", &digest, "0123456789"))]).await;
    check(service.store.get("a").await, "other content");
}

#[tokio::test]
async fn a_range_is_exactly_what_was_asked_for() {
    for (status, headers, body, told) in [
        ("200 OK", "", "0123456789", "does not read a part"),
        (
            "206 P",
            "content-range: bytes 0-3/10\r\n",
            "0123",
            "another part",
        ),
        (
            "206 P",
            "content-range: bytes 3-4/5\r\n",
            "34",
            "has 5 bytes",
        ),
        (
            "206 P",
            "content-range: bytes 3-6/10\r\n",
            "345",
            "broke off",
        ),
        (
            "206 P",
            "content-range: bytes 3-6/10\r\n",
            "34567",
            "broke off",
        ),
        (
            "206 P",
            "content-range: words\r\n",
            "3456",
            "does not read a part",
        ),
    ] {
        let service = Service::new(&[("", says(status, headers, body))]).await;
        check(service.store.get_range("a", 3..7).await, told);
    }
}

#[tokio::test]
async fn our_own_retry_is_a_success() {
    let taken = ("put /", refuses("412 P", "PreconditionFailed"));
    let there = |digest: Sha256| {
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\nx-amz-meta-sha256: \
             {digest}\r\n\r\n"
        );
        ("head /", Answer::Says(head))
    };
    let service = Service::new(&[taken.clone(), there(Sha256::of(BODY))]).await;
    write(&service.store).await.unwrap();
    let service = Service::new(&[taken.clone(), there(Sha256::of(b"other"))]).await;
    check(write(&service.store).await, "Exists");
    // Neither there nor writable.
    let service = Service::new(&[taken, ("head /", says("404 N", "", ""))]).await;
    check(write(&service.store).await, "412");
}

#[tokio::test]
async fn other_writers_are_waited_for_a_while() {
    let busy = refuses("409 C", "ConditionalRequestConflict");
    let service = Service::new(&[("", busy)]).await;
    check(
        write(&service.store).await,
        "409 ConditionalRequestConflict",
    );
    let asked = service.asked.load(Ordering::SeqCst);
    assert_eq!(asked, usize::try_from(ATTEMPTS).unwrap());
}

#[tokio::test]
async fn what_replaced_an_object_must_be_taken_back() {
    let put = says("200 OK", "x-amz-version-id: 1\r\n", "");
    let kept = "x-amz-object-lock-mode: COMPLIANCE\r\n\
                x-amz-object-lock-retain-until-date: 2030-01-01T00:00:00Z\r\n";
    let service = Service::new(&[
        ("put /", put),
        ("delete /", refuses("403 F", "AccessDenied")),
        ("head /", says("200 OK", kept, "")),
    ])
    .await;
    check(write(&service.store).await, "take the default retention");
}

#[tokio::test]
async fn a_listing_that_lies_is_refused() {
    let page = |truncated: bool, keys: &[&str]| {
        let contents: String = keys
            .iter()
            .map(|key| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>"))
            .collect();
        let truncated = format!("<IsTruncated>{truncated}</IsTruncated>");
        says(
            "200 OK",
            "",
            &format!("<ListBucketResult>{truncated}{contents}</ListBucketResult>"),
        )
    };
    for (answer, told) in [
        (page(false, &["p/b", "p/a"]), "out of order"),
        (page(false, &["q/a"]), "out of order"),
        (page(true, &["p/a"]), "out of order"), // the same page again
        (page(true, &[]), "do not end"),
        (says("200 OK", "", "<what"), "makes no sense"),
    ] {
        let service = Service::new(&[("", answer)]).await;
        check(service.store.list("", None, 10).await, told);
    }
}

#[tokio::test]
async fn a_deletion_is_believed_when_it_is_seen() {
    let versions = "<ListVersionsResult><Version><Key>p/a</Key><VersionId>1</VersionId></Version>\
                    </ListVersionsResult>";
    let service = Service::new(&[
        ("get /", says("200 OK", "", versions)),
        ("delete /", says("204 N", "", "")),
        ("head /", says("200 OK", "", "")),
    ])
    .await;
    check(service.store.delete_version("a").await, "still has it");
}

#[tokio::test]
async fn a_bucket_without_lock_is_told() {
    let answer = refuses("400 B", "InvalidRequest");
    let service = Service::new(&[("put /", answer), ("head /", says("404 N", "", ""))]).await;
    check(service.store.set_hold("a", true).await, "no Object Lock");
    let until = WallTime::from_unix_ms(1);
    let retained = service
        .store
        .set_retention("a", until, Retention::Compliance)
        .await;
    check(retained, "no Object Lock");
}
