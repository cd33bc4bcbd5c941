//! The S3 store passes the suite on ministack: versions, retention and holds, without signatures.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod service;

use std::{
    net::{Ipv4Addr, TcpListener},
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use service::Service;
use tokio::{net::TcpStream, time::sleep};

/// It may have to be installed first.
const START: Duration = Duration::from_secs(240);
const POLL: Duration = Duration::from_millis(100);

/// A server that ends with the test.
struct Ministack {
    child: Child,
    service: Service,
}

impl Ministack {
    async fn start() -> Self {
        let port = {
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            free.local_addr().unwrap().port()
        };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.ci/ministack");
        let mut child = Command::new(script)
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let listens = async {
            while TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .is_err()
            {
                assert_eq!(child.try_wait().unwrap(), None, "ministack ended");
                sleep(POLL).await;
            }
        };
        let listens = tokio::time::timeout(START, listens).await;
        listens.expect("ministack listens");
        let service = Service {
            endpoint: format!("http://127.0.0.1:{port}"),
            id: "test",
            secret: "test",
        };
        Self { child, service }
    }
}

impl Drop for Ministack {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn peer_ministack_keeps_every_promise() {
    let ministack = Ministack::start().await;
    service::every_promise_is_kept(&ministack.service).await;
}
