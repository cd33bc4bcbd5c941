//! What a recorder sees through a source, with a real clock.

use std::time::Instant;

use capture::{Damage, Framebuffer, Point, Rect, Size, cursor::Cursor, source::SourceEvent};
use pipeline_tests::clock::monotonic;

use crate::machine::Machine;

/// How long anything may take here.
const LIMIT_MS: u64 = 20_000;
/// What a pointer of these machines covers at most, from its hot spot in every direction.
const POINTER_PX: u32 = 40;

/// One connection of any protocol. All times are milliseconds since [`Recorder`] began.
pub(crate) trait Link {
    /// Says what there is to say, then waits for bytes or time, but not for long. `now_ms` is
    /// asked before and after.
    fn step(
        &mut self,
        now_ms: &dyn Fn() -> u64,
        screen: &mut Framebuffer,
    ) -> Result<Vec<SourceEvent>, String>;

    /// The last update is consumed.
    fn request_update(&mut self, now_ms: u64);

    /// When the picture was last proven.
    fn last_proof_ms(&self) -> Option<u64>;

    /// Whether an answer is overdue.
    fn is_stalled(&self, now_ms: u64) -> bool;

    fn received_bytes(&self) -> u64;
}

pub(crate) struct Recorder {
    pub(crate) link: Box<dyn Link>,
    pub(crate) screen: Framebuffer,
    began: Instant,
    /// Everything reported but updates.
    pub(crate) events: Vec<SourceEvent>,
    pub(crate) updates: u32,
    /// Where pixels truly changed since the caller last looked.
    pub(crate) changed: Damage,
    pointer: (Option<capture::cursor::CursorShape>, Option<Point>),
}

impl Recorder {
    pub(crate) fn new(link: Box<dyn Link>) -> Self {
        Self {
            link,
            screen: Framebuffer::new(Size::new(1, 1), 42).unwrap(),
            began: monotonic(),
            events: Vec::new(),
            updates: 0,
            changed: Damage::default(),
            pointer: (None, None),
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap()
    }

    /// Records until `done`, which must come before the source ends.
    pub(crate) fn record_until(&mut self, what: &str, mut done: impl FnMut(&Self) -> bool) {
        let end_ms = self.now_ms() + LIMIT_MS;
        while !done(self) {
            assert!(self.now_ms() < end_ms, "waited too long for {what}");
            if let Err(error) = self.step() {
                panic!("{error} instead of {what}");
            }
        }
    }

    /// Records until the source ends; why it does.
    pub(crate) fn record_to_the_end(&mut self) -> String {
        let end_ms = self.now_ms() + LIMIT_MS;
        loop {
            assert!(self.now_ms() < end_ms, "the source goes on");
            if let Err(error) = self.step() {
                return error;
            }
        }
    }

    /// Records until all of the picture is what the machine says, but for a pointer at `pointer`.
    pub(crate) fn record_until_equal(&mut self, machine: &dyn Machine, pointer: Option<Point>) {
        self.record_until_near(machine, pointer, [0; 3]);
    }

    /// As [`record_until_equal`](Self::record_until_equal), but each of red, green and blue may be
    /// off by `tolerance`.
    pub(crate) fn record_until_near(
        &mut self,
        machine: &dyn Machine,
        pointer: Option<Point>,
        tolerance: [u8; 3],
    ) {
        let end_ms = self.now_ms() + LIMIT_MS;
        loop {
            let shown = machine.screenshot();
            self.prove();
            let differs = shown.difference(&self.picture(), tolerance);
            if differs
                .is_some_and(|rect| around(pointer).is_some_and(|around| covers(around, rect)))
                || differs.is_some_and(Rect::is_empty)
            {
                return;
            }
            let late = self.now_ms() >= end_ms;
            assert!(!late, "{} differs in {differs:?}", shown.size);
        }
    }

    /// Records until the picture as of now is proven.
    pub(crate) fn prove(&mut self) {
        let now_ms = self.now_ms();
        self.record_until("proof of the picture", |recorder| {
            recorder.link.last_proof_ms() > Some(now_ms)
        });
    }

    /// The picture with the pointer laid over it, as it would be recorded.
    pub(crate) fn picture(&self) -> Framebuffer {
        let size = self.screen.size();
        let mut picture = Framebuffer::new(size, 0).unwrap();
        let cursor = match &self.pointer {
            (Some(shape), Some(at)) => Some(Cursor {
                shape: shape.clone(),
                at: *at,
            }),
            _ => None,
        };
        for y in 0..size.h {
            let row = picture.row_mut(0, y, size.w);
            row.copy_from_slice(self.screen.row(0, y, size.w));
            if let Some(cursor) = &cursor {
                cursor.blend_row(0, y, row);
            }
        }
        picture
    }

    fn step(&mut self) -> Result<(), String> {
        let began = self.began;
        let now_ms = move || u64::try_from(began.elapsed().as_millis()).unwrap();
        for event in self.link.step(&now_ms, &mut self.screen)? {
            match event {
                SourceEvent::Update { damage } => {
                    self.updates += 1;
                    self.changed.merge(&self.screen.settle(&damage));
                    self.link.request_update(self.now_ms());
                }
                SourceEvent::Cursor { at, shape } => {
                    let (old_shape, old_at) = &mut self.pointer;
                    *old_at = at.or(*old_at);
                    *old_shape = shape.or(old_shape.take());
                }
                event => self.events.push(event),
            }
        }
        Ok(())
    }

    pub(crate) fn saw(&self, wanted: impl Fn(&SourceEvent) -> bool) -> bool {
        self.events.iter().any(wanted)
    }

    pub(crate) fn proofs(&self) -> usize {
        let proofs = { self.events.iter() }.filter(|event| **event == SourceEvent::Proof);
        proofs.count()
    }
}

/// Where a pointer may be painted that is at `pointer`.
fn around(pointer: Option<Point>) -> Option<Rect> {
    let Point { x, y } = pointer?;
    let [x, y] = [x, y].map(|at| u32::try_from(at).unwrap());
    let [left, top] = [x, y].map(|at| at.saturating_sub(POINTER_PX));
    Some(Rect::new(
        left,
        top,
        x + POINTER_PX - left,
        y + POINTER_PX - top,
    ))
}

fn covers(outer: Rect, inner: Rect) -> bool {
    inner.intersection(outer) == inner
}
