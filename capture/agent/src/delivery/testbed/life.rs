//! How long does the delivering process live? Counted in steps, so that a test can end it between
//! any two.

use std::sync::Mutex;

use tokio::sync::Notify;

/// A life of so many steps.
#[derive(Default)]
pub(crate) struct Life {
    /// For ever, when it is not said.
    left: Mutex<Option<u32>>,
    over: Notify,
}

impl Life {
    /// From here on it lasts `steps`, or for ever.
    pub(crate) fn lasts(&self, steps: Option<u32>) {
        *self.left.lock().unwrap() = steps;
    }

    /// Takes a step. The last one never returns.
    pub(crate) async fn step(&self) {
        let over = match &mut *self.left.lock().unwrap() {
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
            None => false,
        };
        if over {
            self.over.notify_one();
            std::future::pending::<()>().await;
        }
    }

    /// Does `work`, unless it is cut short: `None`.
    pub(crate) async fn spent<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.over.notified() => None,
        }
    }
}
