//! `playhead policy`: says in plain words what a redaction policy does, or why it does nothing.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use capture::mark::Mark;
use clap::Subcommand;
use policy::{Between, Clipboard, Keys, Mask};

use super::{Failure, Outcome, say, sessions::printable};

#[derive(Subcommand, Debug)]
pub(super) enum Policy {
    /// Say what a policy does; exit 1 where a recorder would refuse it
    Check {
        /// The policy
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

impl Policy {
    pub(super) fn run(self) -> Outcome {
        let Self::Check { file } = self;
        let name = file.display();
        let text = read(&file)
            .with_context(|| format!("cannot read {name}"))
            .map_err(Failure::usage)?;
        let text = String::from_utf8(text).with_context(|| format!("{name} is not UTF-8"))?;
        let policy = policy::Policy::parse(&text).with_context(|| name.to_string())?;
        describe(&policy);
        Ok(ExitCode::SUCCESS)
    }
}

/// The file's bytes, one more than a policy may have at most.
fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let limit = u64::try_from(policy::Policy::MAX_BYTES).unwrap_or(u64::MAX);
    let mut text = Vec::new();
    File::open(file)?.take(limit + 1).read_to_end(&mut text)?;
    Ok(text)
}

fn describe(policy: &policy::Policy) {
    let line = |about: &str, what: &str| say(format_args!("{about:<10} {what}"));
    line("policy", policy.sha256().unwrap_or_default());
    for mask in policy.masks() {
        line("mask", &in_words(mask));
    }
    if policy.masks().is_empty() {
        line("mask", "none: the whole screen is recorded");
    }
    line(
        "keys",
        match policy.input().keys {
            Keys::None => "none are kept",
            Keys::Classes => "control keys are kept by name, printable keys as •",
            Keys::All => "every key is kept, and the text they type",
        },
    );
    line(
        "clipboard",
        match policy.input().clipboard {
            Clipboard::None => "nothing is kept",
            Clipboard::Hash => "a keyed hash and a rounded size are kept, no text",
            Clipboard::Text => "its text is kept",
        },
    );
    let (begin, end) = (Mark::SECRET_BEGIN, Mark::SECRET_END);
    line(
        "secrets",
        &format!("from mark {begin} to {end} no key and no clipboard is kept"),
    );
}

fn in_words(mask: &Mask) -> String {
    let (name, region) = (printable(&mask.name), mask.region);
    match &mask.between {
        None => format!("{name}: {region}, always"),
        Some(Between { from_mark, to_mark }) => format!(
            "{name}: {region}, from mark {from_mark} to {to_mark}; \
             no key and no clipboard is kept meanwhile"
        ),
    }
}
