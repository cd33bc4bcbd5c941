//! What is recorded of one machine across connections: clocks, video track and spool.

pub(super) mod beside;
mod disk;

use anyhow::Context as _;
use capture::{
    Damage, Framebuffer, GapReason, MediaTime, Point, Size,
    cursor::{Cursor, CursorShape},
    event::Event,
    session::SessionHead,
    time::{AnchorKeeper, Stamper},
};
use encoder::{Output, Track, TrackConfig};
use policy::Policy;
use segment::end::EndReason;

use self::{beside::Beside, disk::Space};
use super::{health::State, media_clock::MediaClock, reports::Reports};
use crate::{
    clock::{self, BootTime},
    spool::{Claim, Epoch, Folder, Journal, is_out_of_room},
    wire::{Report, Spec, Status},
};

/// What a source says of the desktop it shows.
#[derive(Clone, Debug)]
pub(super) struct Desktop {
    /// The screen's size.
    pub(super) size: Size,
    /// The name the server gives it: hostile text.
    pub(super) server_name: String,
}

/// A session in the making.
pub(super) struct Recording<'a> {
    spec: &'a Spec,
    reports: &'a Reports,
    policy: Policy,
    folder: Folder,
    _claim: Claim,
    journal: Journal,
    beside: Beside,
    space: Space,
    /// The pointer, as far as it is known and the source does not paint it.
    at: Option<Point>,
    shape: Option<CursorShape>,
    /// Set by the first frame.
    film: Option<Film>,
    counts: Counts,
}

/// The recorded side: it exists once there is a picture.
struct Film {
    clock: MediaClock,
    anchors: AnchorKeeper,
    stamper: Stamper,
    track: Track,
    /// What is still to be appended to the spool; empty between calls, unless there is no room.
    outputs: Vec<Output>,
    /// The last instant at which the picture was known.
    proven: MediaTime,
    /// The last thing that happened beside the picture.
    told: MediaTime,
    /// Whether there is no picture now.
    in_gap: bool,
    /// The health last told.
    health: State,
}

#[derive(Default)]
struct Counts {
    /// Frames that the source has shown, and those of them that were recorded.
    shown: u64,
    frames: u64,
    frames_at_last_status: u64,
    status: Status,
}

impl<'a> Recording<'a> {
    /// Begins what `spec` asks for: a new session, or a further run of one.
    pub(super) fn new(spec: &'a Spec, reports: &'a Reports) -> anyhow::Result<Self> {
        let policy = match &spec.policy {
            Some(text) => Policy::parse(text).context("reading the redaction policy")?,
            None => Policy::default(),
        };
        let folder = Folder::at(spec.spool.clone());
        let claim = folder.claim().context("claiming the spool folder")?;
        let journal = Journal::new(folder.clone());
        let beside = Beside::new(spec, &policy, &folder).context("taking up the open marks")?;
        let counts = Counts::default();
        let mut recording = Self {
            spec,
            reports,
            policy,
            folder,
            _claim: claim,
            journal,
            beside,
            space: Space::default(),
            at: None,
            shape: None,
            film: None,
            counts,
        };
        if let Some(resume) = &spec.resume {
            let track = recording.track(resume.run, resume.seq, resume.from)?;
            recording.film = Some(Film {
                clock: MediaClock::resume(&resume.epoch),
                anchors: resume
                    .last_anchor
                    .map_or_else(AnchorKeeper::default, AnchorKeeper::after),
                stamper: Stamper::after(resume.from),
                track,
                outputs: Vec::new(),
                proven: resume.from,
                told: resume.from,
                in_gap: false,
                health: State::Ok,
            });
            recording.space = Space::resumed(resume);
            let detail = match resume.gap {
                GapReason::DiskFull => "there was no room to record",
                _ => "recorder was started again",
            };
            recording.gap(resume.gap, detail)?;
        }
        Ok(recording)
    }

    fn track(&self, run: u32, seq: u64, from: MediaTime) -> anyhow::Result<Track> {
        let config = TrackConfig {
            session: self.spec.session,
            run,
            seq,
            from,
            fps_max: self.spec.fps_max,
            encoder: self.spec.encoder,
            marks: self.beside.marks().clone(),
        };
        Track::new(config, self.policy.clone()).context("starting the encoder")
    }

    /// How many frames the source has shown, recorded or not.
    pub(super) const fn shown(&self) -> u64 {
        self.counts.shown
    }

    /// Whether the session has a first frame.
    pub(super) const fn started(&self) -> bool {
        self.film.is_some()
    }

    /// Frames are taken at least this far apart.
    pub(super) fn frame_interval_ms(&self) -> u64 {
        1000 / u64::from(self.spec.fps_max.max(1))
    }

    /// Records the picture received at `received`.
    pub(super) fn frame(
        &mut self,
        received: BootTime,
        desktop: &Desktop,
        framebuffer: &Framebuffer,
        damage: &Damage,
    ) -> anyhow::Result<()> {
        self.counts.shown += 1;
        if self.is_unrecorded() {
            return Ok(());
        }
        if self.film.is_none() {
            self.begin(received, desktop)?;
        }
        self.picture(received, framebuffer, damage)?;
        self.counts.frames += 1;
        if self.counts.frames == 1 {
            self.journal.sync().context("syncing the spool")?;
            self.reports.send(&Report::Started);
            self.look_at_disk(BootTime::now())?;
        }
        Ok(())
    }

    /// The pointer has this place or shape. Whether the picture is another one for it: a source
    /// that paints the pointer itself hands out an empty shape or none.
    pub(super) fn cursor(&mut self, at: Option<Point>, shape: Option<CursorShape>) -> bool {
        let changed = shape.is_some() || at.is_some_and(|at| self.at != Some(at));
        let was_shown = self.shows_pointer();
        self.at = at.or(self.at);
        self.shape = shape.or(self.shape.take());
        changed && (was_shown || self.shows_pointer())
    }

    fn shows_pointer(&self) -> bool {
        let painted = |shape: &CursorShape| shape.size().area_px() > 0;
        self.at.is_some() && self.shape.as_ref().is_some_and(painted)
    }

    /// Writes the head; the first frame's receipt is the session's beginning.
    fn begin(&mut self, received: BootTime, desktop: &Desktop) -> anyhow::Result<()> {
        let (now, utc) = clock::both();
        let start = utc.plus_ms(-i64::try_from(now.ms_since(received)).unwrap_or(0));
        let head = SessionHead {
            format: SessionHead::FORMAT,
            id: self.spec.session,
            start,
            protocol: self.spec.source.protocol,
            source: self.spec.source.to_string(),
            server_name: desktop.server_name.clone(),
            size: desktop.size,
            fps_max: self.spec.fps_max,
            policy: self.policy.sha256().map(str::to_owned),
            recorder: concat!("playhead-agent ", env!("CARGO_PKG_VERSION")).to_owned(),
            context: self.spec.context.clone(),
        };
        let epoch = Epoch {
            boot_id: clock::boot_id(),
            at: received,
            t: MediaTime::ZERO,
        };
        self.folder
            .write_epoch(&epoch)
            .context("writing the session's epoch")?;
        self.folder
            .write_head(&head)
            .context("writing the session's head")?;
        let mut film = Film {
            clock: MediaClock::from_zero_at(received),
            anchors: AnchorKeeper::default(),
            stamper: Stamper::default(),
            track: self.track(1, 0, MediaTime::ZERO)?,
            outputs: Vec::new(),
            proven: MediaTime::ZERO,
            told: MediaTime::ZERO,
            in_gap: false,
            health: State::Ok,
        };
        // The first anchor is the start itself, so that the head and the clock agree to the ms.
        if let Some(anchor) = film
            .anchors
            .observe(MediaTime::ZERO, start, clock::wall_error_ms())
        {
            film.track.anchor(anchor, &mut film.outputs);
        }
        self.film = Some(film);
        Ok(())
    }

    fn picture(
        &mut self,
        received: BootTime,
        framebuffer: &Framebuffer,
        damage: &Damage,
    ) -> anyhow::Result<()> {
        let Some(film) = &mut self.film else {
            return Ok(());
        };
        let t = film.stamper.stamp(film.clock.at(received));
        let cursor = self.at.zip(self.shape.clone());
        let cursor = cursor.map(|(at, shape)| Cursor { shape, at });
        film.track
            .frame(t, framebuffer, cursor.as_ref(), damage, &mut film.outputs)?;
        film.proven = t;
        if std::mem::take(&mut film.in_gap) {
            self.reports.send(&Report::GapClosed { to: t });
            self.health(State::Ok, "there is a picture again");
        }
        self.write()
    }

    /// The source has proved at `received` that the picture still stands.
    pub(super) fn proof(
        &mut self,
        received: BootTime,
        framebuffer: &Framebuffer,
    ) -> anyhow::Result<()> {
        if self.is_unrecorded() {
            return Ok(());
        }
        let Some(film) = &mut self.film else {
            return Ok(());
        };
        let t = film.clock.at(received);
        if t <= film.proven {
            return Ok(()); // an old proof says nothing new, least of all that a gap is over
        }
        if film.in_gap {
            let whole = Damage::of(framebuffer.size().rect());
            return self.picture(received, framebuffer, &whole);
        }
        film.proven = t;
        film.track.proof(t, &mut film.outputs)?;
        self.write()
    }

    /// Tells how the recording does, if that has changed.
    pub(super) fn health(&mut self, state: State, detail: &str) {
        let Some(film) = &mut self.film else { return };
        if std::mem::replace(&mut film.health, state) == state {
            return;
        }
        // Of the last picture that is known: what is told later could lie past the session's end.
        let event = Event::health(film.proven, state.as_str(), detail);
        film.track.event(event, &mut film.outputs);
        self.reports.send(&Report::Health {
            state: state.as_str().to_owned(),
            detail: detail.to_owned(),
        });
    }

    /// There is no picture since the last proven one.
    pub(super) fn gap(&mut self, reason: GapReason, detail: &str) -> anyhow::Result<()> {
        if let Some(state) = State::of_gap(reason) {
            self.health(state, detail);
        }
        let Some(film) = &mut self.film else {
            return Ok(());
        };
        let from = match std::mem::replace(&mut film.in_gap, true) {
            false => film.proven,
            // There was no picture, and from now on one could not be kept.
            true if reason == GapReason::DiskFull => film.clock.at(BootTime::now()),
            true => return self.write(),
        };
        film.track.gap(from, reason, &mut film.outputs)?;
        self.counts.status.gaps += 1;
        self.reports.send(&Report::GapOpened {
            from,
            reason,
            detail: detail.to_owned(),
        });
        self.write()
    }

    /// What is due at `now` whatever the source does: durability, a look at the disk, and input that
    /// has paused.
    pub(super) fn keep(&mut self, now: BootTime) -> anyhow::Result<()> {
        if self
            .journal
            .sync_due_ms()
            .is_some_and(|due| due <= now.ms())
        {
            self.journal.sync().context("syncing the spool")?;
        }
        self.watch_disk(now)?;
        self.keep_beside(now)
    }

    /// When [`keep`](Self::keep) has something to do.
    pub(super) fn due(&self) -> Option<BootTime> {
        let sync = self.journal.sync_due_ms().map(BootTime::from_ms);
        let due = [sync, self.look_due(), self.beside_due()];
        due.into_iter().flatten().min()
    }

    /// A picture came too soon after the one before it, and will be part of the next.
    pub(super) const fn merged(&mut self) {
        self.counts.status.merged += 1;
    }

    /// Tells the parent how it goes, and how many are connected through us.
    pub(super) fn report_status(&mut self, now: BootTime, drivers: u32) {
        let Some(film) = &self.film else { return };
        let frames = self.counts.frames - self.counts.frames_at_last_status;
        self.counts.frames_at_last_status = self.counts.frames;
        self.counts.status.t = film.clock.at(now);
        self.counts.status.fps = u32::try_from(frames).unwrap_or(u32::MAX);
        self.counts.status.frames = self.counts.frames;
        self.counts.status.proven = film.proven;
        self.counts.status.drivers = drivers;
        self.reports.send(&Report::Status(self.counts.status));
    }

    /// Closes the session at `at`, or at the last proven picture if that is earlier.
    pub(super) fn end(&mut self, at: BootTime, reason: EndReason) -> anyhow::Result<()> {
        self.tell_unenforced(at)?;
        let unproven = |film: &Film| film.proven < film.told;
        if self.film.as_ref().is_some_and(unproven) {
            // What happened after the last proof is kept, without a picture.
            self.gap(GapReason::Stalled, "source did not answer until the end")?;
        }
        let Some(film) = &mut self.film else {
            return Ok(());
        };
        let t = film.clock.at(at);
        let to = if film.in_gap {
            t.max(film.proven)
        } else {
            t.min(film.proven)
        };
        let to = film.track.end(to, &mut film.outputs)?;
        let (now, utc) = clock::both();
        let late_ms = film.clock.at(now).ms_since(to);
        let utc = utc.plus_ms(-i64::try_from(late_ms).unwrap_or(0));
        self.write()?;
        anyhow::ensure!(
            !self.space.is_stuck(),
            "no room in the spool for the session's end"
        );
        self.reports.send(&Report::Ended { t: to, utc, reason });
        Ok(())
    }

    /// Makes durable what there is and leaves the session open for whoever recovers it.
    pub(super) fn abandon(&mut self) -> anyhow::Result<()> {
        self.tell_unenforced(BootTime::now())?;
        Ok(self.journal.sync()?)
    }

    /// Anchors the clocks and appends to the spool what the track has put out.
    fn write(&mut self) -> anyhow::Result<()> {
        self.give_events();
        let Some(film) = &mut self.film else {
            return Ok(());
        };
        let (now, utc) = clock::both();
        if !self.space.is_stuck()
            && let Some(anchor) =
                film.anchors
                    .observe(film.clock.at(now), utc, clock::wall_error_ms())
        {
            film.track.anchor(anchor, &mut film.outputs);
        }
        let mut spooled = 0;
        for output in &film.outputs {
            let appended = match output {
                Output::Append { seq, record } => self.journal.append(now.ms(), *seq, record),
                Output::Sheet { seq, jpeg } => self.folder.write_sheet(*seq, jpeg),
                Output::Sealed { .. } => Ok(()),
            };
            match appended {
                // It waits, and all that follows it.
                Err(error) if is_out_of_room(&error) => break,
                appended => appended.context("writing the spool")?,
            }
            spooled += 1;
            self.beside.spooled(output);
            match output {
                Output::Append {
                    record: segment::Record::Sample(sample),
                    ..
                } => {
                    self.counts.status.bytes += sample.bytes.len() as u64;
                    if sample.key {
                        // What a fragment begins with is durable at once.
                        self.journal.sync().context("syncing the spool")?;
                    }
                }
                Output::Sealed { seq } => {
                    self.journal.seal(*seq).context("closing a spool file")?;
                    self.reports.send(&Report::Sealed { seq: *seq });
                }
                Output::Append { .. } | Output::Sheet { .. } => {}
            }
        }
        film.outputs.drain(..spooled);
        self.space.waits(film.outputs.len())?;
        self.answer_marks()
    }
}
