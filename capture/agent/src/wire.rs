//! What parent and child say to each other, one JSON line each: the parent on the child's standard
//! input, the child on its standard output.
//!
//! The child handles the recorded machine's bytes and holds no credentials but the source's own and,
//! where it lets a driver in, those of that door.
//! The parent holds those of store and catalogue and never sees the peer's bytes.

use std::{fmt, path::PathBuf};

use capture::{
    Anchor, GapReason, MediaTime, Point, SessionId, WallTime,
    input::{Buttons, Key},
    mark::Mark,
    session::RunContext,
};
use encoder::Encoder;
use policy::Marks;
use segment::end::EndReason;
use serde::{Deserialize, Serialize};

use crate::{
    access::Access,
    duration::GiveUp,
    entrance::Entrance,
    input::InputSource,
    source::Source,
    spool::{Epoch, Reserve},
};

/// What the child is to do: the first line on its input.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    /// Record a session.
    Record(Box<Spec>),
    /// Find out whether a machine keeps two connections at once.
    Probe {
        /// The machine.
        source: Source,
        /// How it is to be opened.
        access: Access,
    },
}

/// How a proxied machine is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Upstream {
    /// The driver's connection is relayed, and a second one watches.
    Shared,
    /// There is one connection, the recorder's own. Whoever operates or watches the machine is
    /// served from its picture.
    Single,
    /// There is one connection, the driver's, and the recorder reads along.
    Inline,
}

/// Who drives a proxied machine, and how it is connected to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Driven {
    /// As [`Upstream::Shared`].
    Shared,
    /// As [`Upstream::Single`].
    Single,
    /// As [`Upstream::Inline`], by a driver who is let in here.
    Inline(Box<Entrance>),
}

impl Driven {
    /// How the machine is connected to.
    pub(crate) const fn upstream(&self) -> Upstream {
        match self {
            Self::Shared => Upstream::Shared,
            Self::Single => Upstream::Single,
            Self::Inline(_) => Upstream::Inline,
        }
    }
}

/// What is to be recorded, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Spec {
    /// The session to record.
    pub(crate) session: SessionId,
    /// The machine.
    pub(crate) source: Source,
    /// How it is to be opened.
    pub(crate) access: Access,
    /// The session's folder in the spool.
    pub(crate) spool: PathBuf,
    /// What the owner says about the work.
    pub(crate) context: RunContext,
    /// The redaction policy's text.
    pub(crate) policy: Option<String>,
    /// At most this many frames a second.
    pub(crate) fps_max: u32,
    /// Which encoder to use.
    pub(crate) encoder: Encoder,
    /// How long a lost source is waited for.
    pub(crate) give_up: GiveUp,
    /// Where this run takes a session up again; `None` begins one.
    pub(crate) resume: Option<Resume>,
    /// Where input is seen beside the source.
    pub(crate) input: Option<InputSource>,
    /// The marks that are open when a session begins.
    pub(crate) marks: Marks,
    /// How the machine is connected to, if [`DRIVER_FD`] is the connection of somebody who drives
    /// it.
    pub(crate) driven: Option<Driven>,
    /// Whether the machine is operated over the recorder's own connection, by [`Command::Operate`].
    pub(crate) operated: bool,
    /// How much of the spool's disk is kept free.
    pub(crate) reserve: Reserve,
    /// Whether the machine is not to be used while it cannot be recorded.
    pub(crate) fail_closed: bool,
}

impl Spec {
    /// Whether this recorder itself keeps the machine from being used unrecorded: it cuts the
    /// driver off. Who only watches has to ask somebody else to.
    pub(crate) const fn cuts_off(&self) -> bool {
        self.fail_closed && self.driven.is_some()
    }

    /// What the recorder's own connection is for: whoever operates the machine over it is served as
    /// if there was no other.
    pub(crate) fn connection(&self) -> Option<Upstream> {
        match self.operated {
            true => Some(Upstream::Single),
            false => self.driven.as_ref().map(Driven::upstream),
        }
    }
}

/// Where the child finds the driver's connection.
pub(crate) const DRIVER_FD: i32 = 3;
/// Where it finds the socket at which further clients connect, if the machine allows one
/// connection.
pub(crate) const LISTENER_FD: i32 = 4;

/// The state in which an earlier run left its session.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Resume {
    /// Which run this is.
    pub(crate) run: u32,
    /// The number of its first object.
    pub(crate) seq: u64,
    /// Where that object begins.
    pub(crate) from: MediaTime,
    /// How media time goes on.
    pub(crate) epoch: Epoch,
    /// The last time both clocks were read together.
    pub(crate) last_anchor: Option<Anchor>,
    /// Why there is no picture from there on.
    pub(crate) gap: GapReason,
    /// Whether somebody has made sure that the machine is not used meanwhile.
    pub(crate) enforced: bool,
}

/// What the parent says after the [`Spec`]. A closed input means that the parent is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Command {
    /// Close the session cleanly, for this reason.
    Stop(EndReason),
    /// Put this mark in force, make it durable, and answer with [`Report::Marked`].
    Mark {
        /// What the answer names.
        id: u64,
        /// The mark.
        mark: Mark,
    },
    /// Somebody has made sure that the machine is not used while it cannot be recorded.
    Enforced,
    /// Do this to the machine, all of it or nothing, and answer with [`Report::Operated`].
    Operate {
        /// What the answer names.
        id: u64,
        /// Who asks.
        driver: u64,
        /// What is to be done, in order.
        deeds: Vec<Deed>,
    },
    /// This driver has gone: what it holds down comes up.
    LetGo {
        /// Who.
        driver: u64,
    },
}

/// One thing that a driver does to the machine.
///
/// `Debug` shows no key and no text: input must not reach a log.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deed {
    /// A key goes down or up.
    Key(Key),
    /// A text is typed.
    Text(String),
    /// The pointer is moved to a place on the desktop.
    Move(Point),
    /// Buttons go down where the pointer is.
    Press(Buttons),
    /// They come up.
    Release(Buttons),
    /// A text is put on the machine's clipboard.
    Clipboard(String),
}

impl fmt::Debug for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Deed(…)")
    }
}

/// What became of a driver's deeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Done {
    /// When it was, in the session's time.
    pub(crate) t: MediaTime,
    /// Whether it is in the record: not where there is no room, and the machine may be used
    /// unrecorded.
    pub(crate) recorded: bool,
}

/// Why nothing of a driver's deeds was done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Undone {
    /// What is wrong, for the driver.
    pub(crate) error: String,
    /// Which of them it was that could not be done.
    pub(crate) deed: Option<usize>,
}

impl Undone {
    /// Before the first frame is durable.
    pub(crate) const TOO_EARLY: &str = "nothing is recorded yet";

    /// It is not about any of them.
    pub(crate) fn because(error: &str) -> Self {
        Self {
            error: error.to_owned(),
            deed: None,
        }
    }
}

/// What the child reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(crate) enum Report {
    /// `session.json` and the first frame are durable in the spool.
    Started,
    /// Object `seq` is complete in the spool.
    Sealed {
        /// Its number.
        seq: u64,
    },
    /// There is no picture since `from`.
    GapOpened {
        /// The last proven picture.
        from: MediaTime,
        /// Why.
        reason: GapReason,
        /// What happened, for the operator.
        detail: String,
    },
    /// There is a picture again.
    GapClosed {
        /// Since when.
        to: MediaTime,
    },
    /// The recording's health changed.
    Health {
        /// How it does now.
        state: String,
        /// What happened, for the operator.
        detail: String,
    },
    /// For want of room nothing is recorded any more.
    Unrecorded {
        /// Since when.
        since: WallTime,
    },
    /// There is room again.
    RoomAgain,
    /// How it goes, about once a second.
    Status(Status),
    /// A mark is in force and durable.
    Marked {
        /// The [`Command::Mark`] this answers.
        id: u64,
        /// Since when.
        t: MediaTime,
    },
    /// A driver's deeds are recorded and handed to the machine, or nothing of them was done.
    Operated {
        /// The [`Command::Operate`] this answers.
        id: u64,
        /// What became of them.
        result: Result<Done, Undone>,
    },
    /// The machine was probed.
    Probed {
        /// How it has to be driven.
        driven: Driven,
    },
    /// A first connection, to the source or to where input is seen, failed; nothing was recorded.
    Refused {
        /// Why.
        refusal: Refusal,
        /// What happened, for the operator.
        detail: String,
    },
    /// The driver was not let in, or had gone, before there was a picture; nothing was recorded.
    NotDriven {
        /// Why.
        reason: EndReason,
        /// What happened, for the operator.
        detail: String,
    },
    /// The session is closed and all of it is in the spool.
    Ended {
        /// Where it ends.
        t: MediaTime,
        /// The wall clock at that moment.
        utc: WallTime,
        /// Why.
        reason: EndReason,
    },
    /// The child cannot go on; what it wrote stays.
    Failed {
        /// What happened, for the operator.
        detail: String,
    },
}

impl Report {
    /// The child cannot go on because of `error`.
    pub(crate) fn failed(error: &anyhow::Error) -> Self {
        Self::Failed {
            detail: format!("{error:#}"),
        }
    }
}

/// How the recording goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// The session's length so far.
    pub(crate) t: MediaTime,
    /// Frames taken in the last second.
    pub(crate) fps: u32,
    /// Bytes of coded pictures so far.
    pub(crate) bytes: u64,
    /// Gaps so far.
    pub(crate) gaps: u32,
    /// Frames taken by this child.
    pub(crate) frames: u64,
    /// Pictures that this child has merged into later ones, since they came too fast.
    pub(crate) merged: u64,
    /// Where the picture was last proven.
    pub(crate) proven: MediaTime,
    /// Who is connected through the recorder: those that drive the machine and those that watch.
    pub(crate) drivers: u32,
}

/// Why a first connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Refusal {
    /// The source did not accept who we are.
    Authentication,
    /// There was no usable source at the address.
    Unreachable,
}
