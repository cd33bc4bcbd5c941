//! What does a recorder tell of itself at `--metrics`?

use std::net::SocketAddr;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::http;
use crate::playhead::Recorder;

/// Where a recorder answers.
#[derive(Clone, Copy, Debug)]
pub struct Numbers(SocketAddr);

impl Numbers {
    /// Of a recorder that was started with `--metrics`.
    ///
    /// # Errors
    /// When it has not said where it answers.
    pub fn of(recorder: &Recorder) -> anyhow::Result<Self> {
        let told = recorder.events("metrics")?.pop().context("no address")?;
        let address = told["address"].as_str().context("no address")?;
        Ok(Self(address.parse()?))
    }

    /// A number by its name and labels, as they are written; 0 when nothing was counted yet.
    ///
    /// # Errors
    /// When the recorder does not answer, or not with numbers.
    pub fn get(&self, name: &str) -> anyhow::Result<f64> {
        let answer = http::get(self.0, "/metrics")?;
        ensure!(answer.status == 200, "{}", answer.text());
        let text = answer.text();
        ensure!(text.ends_with("# EOF\n"), "it is cut off: {text}");
        let name = format!("playhead_agent_{name} ");
        let mut values = text.lines().filter_map(|line| line.strip_prefix(&name));
        values.next().map_or(Ok(0.0), |value| Ok(value.parse()?))
    }

    /// Whether it is ready, and what it says of each part.
    ///
    /// # Errors
    /// When the recorder does not answer in JSON.
    pub fn readiness(&self) -> anyhow::Result<(u16, Value)> {
        let answer = http::get(self.0, "/readyz")?;
        Ok((answer.status, answer.json()?))
    }
}
