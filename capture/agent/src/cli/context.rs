//! What the owner says about the work, which the record keeps.

use capture::{
    SessionId,
    session::{ActorKind, Document, Os, RunContext},
    trace::Traceparent,
};
use clap::Args;
use segment::Sha256;

/// What the owner says about the work.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The run")]
pub(crate) struct Context {
    /// The run (piece of work) the session belongs to
    #[arg(long, env = "PLAYHEAD_RUN", value_name = "ID")]
    run: Option<String>,
    /// What was asked
    #[arg(long, env = "PLAYHEAD_REQUEST", value_name = "TEXT")]
    request: Option<String>,
    /// A title for people
    #[arg(long, env = "PLAYHEAD_TITLE", value_name = "TEXT")]
    title: Option<String>,
    /// The session this one branched or was restored from
    #[arg(long, env = "PLAYHEAD_PARENT", value_name = "SESSION")]
    parent: Option<SessionId>,
    /// The snapshot of the parent it began at
    #[arg(long, env = "PLAYHEAD_PARENT_SNAPSHOT", value_name = "ID")]
    parent_snapshot: Option<String>,
    /// Who operates the machine
    #[arg(long, env = "PLAYHEAD_ACTOR", value_name = "NAME")]
    actor: Option<String>,
    /// agent, person or service
    #[arg(long, env = "PLAYHEAD_ACTOR_KIND", value_name = "KIND")]
    actor_kind: Option<ActorKind>,
    /// On whose behalf
    #[arg(long, env = "PLAYHEAD_ON_BEHALF_OF", value_name = "NAME")]
    on_behalf_of: Option<String>,
    /// A label; may be given many times
    #[arg(long = "label", env = "PLAYHEAD_LABEL", value_name = "K=V", value_parser = label,
          value_delimiter = ',')]
    labels: Vec<(String, String)>,
    /// linux, windows or macos
    #[arg(long, env = "PLAYHEAD_OS", value_name = "OS")]
    os: Option<Os>,
    /// The image the machine was started from
    #[arg(long, env = "PLAYHEAD_IMAGE", value_name = "ID")]
    image: Option<String>,
    /// The image's attestation
    #[arg(long, env = "PLAYHEAD_ATTESTATION", value_name = "TEXT|@FILE", value_parser = text_or_file)]
    attestation: Option<String>,
    /// The deployment it runs in
    #[arg(long, env = "PLAYHEAD_DEPLOYMENT", value_name = "TEXT")]
    deployment: Option<String>,
    /// The region it runs in
    #[arg(long, env = "PLAYHEAD_REGION", value_name = "TEXT")]
    region: Option<String>,
    /// The egress policy applied to the machine
    #[arg(long, env = "PLAYHEAD_EGRESS_POLICY", value_name = "TEXT|@FILE", value_parser = text_or_file)]
    egress_policy: Option<String>,
    /// The trace the session belongs to, as a W3C traceparent
    #[arg(long, env = "PLAYHEAD_TRACEPARENT", value_name = "00-…")]
    traceparent: Option<Traceparent>,
}

impl From<Context> for RunContext {
    fn from(context: Context) -> Self {
        let document = |text: String| Document {
            sha256: Sha256::of(text.as_bytes()).into(),
            text,
        };
        Self {
            run: context.run,
            request: context.request,
            title: context.title,
            parent: context.parent,
            parent_snapshot: context.parent_snapshot,
            actor: context.actor,
            actor_kind: context.actor_kind,
            on_behalf_of: context.on_behalf_of,
            os: context.os,
            image: context.image,
            attestation: context.attestation,
            deployment: context.deployment,
            region: context.region,
            egress_policy: context.egress_policy.map(document),
            labels: context.labels.into_iter().collect(),
            traceparent: context.traceparent,
        }
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("a label looks like key=value")?;
    if key.is_empty() {
        return Err("a label needs a key before the equals sign".to_owned());
    }
    Ok((key.to_owned(), value.to_owned()))
}

fn text_or_file(text: &str) -> Result<String, String> {
    match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}")),
        None => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::{super::record::tests::record, *};

    #[test]
    fn the_runs_context_reaches_the_record() {
        let args = [
            "--run", "r-1", "--label", "team=fin", "--label", "tier=2", "--os", "linux",
        ];
        let context = RunContext::from(record(&args).unwrap().context);
        assert_eq!(context.run.as_deref(), Some("r-1"));
        assert_eq!(context.labels.len(), 2);
        assert_eq!(context.os, Some(Os::Linux));
    }
}
