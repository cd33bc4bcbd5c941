//! What is recorded of a pointer: its paths, its clicks, and its wheel.

use capture::{
    MediaTime, Point,
    event::{Event, Origin},
    input::{Button, Buttons, Pointer},
};
use serde_json::json;

/// A path is recorded at least this often, so that it lies near the picture it was drawn over.
const PATH_MS: u64 = 1000;
/// A path has at most this many points: more than a hand makes in a second.
const PATH_POINTS: usize = 256;
/// Steps of a wheel that come within this are one turn …
const WHEEL_PAUSE_MS: u64 = 100;
/// … which is recorded at least this often.
const WHEEL_MS: u64 = 1000;

/// A pointer, and what it is in the middle of.
pub(super) struct Mouse {
    origin: Origin,
    at: Option<Point>,
    buttons: Buttons,
    path: Option<Path>,
    wheel: Option<Wheel>,
}

/// Moves without a click.
struct Path {
    from: MediaTime,
    points: Vec<(u64, Point)>,
}

/// Steps of the wheel at one place.
struct Wheel {
    from: MediaTime,
    last: MediaTime,
    at: Point,
    dx: i32,
    dy: i32,
}

impl Mouse {
    pub(super) const fn new(origin: Origin) -> Self {
        Self {
            origin,
            at: None,
            buttons: Buttons(0),
            path: None,
            wheel: None,
        }
    }

    /// Whether `pointer` presses a button or lets one go.
    pub(super) fn clicks(&self, pointer: &Pointer) -> bool {
        self.changes(pointer.buttons).next().is_some()
    }

    pub(super) fn pointer(&mut self, t: MediaTime, pointer: &Pointer, out: &mut Vec<Event>) {
        let Pointer { at, buttons } = *pointer;
        let clicks: Vec<_> = self.changes(buttons).collect();
        let moved = self.at.replace(at) != Some(at);
        let before = std::mem::replace(&mut self.buttons, buttons);
        if moved && clicks.is_empty() {
            self.move_to(t, at, out);
        }
        for button in buttons.pressed_since(before) {
            if let Button::Wheel { dx, dy } = button {
                self.turn(t, at, dx, dy, out);
            }
        }
        self.click(t, at, clicks, out);
    }

    /// Ends everything at `t`: the buttons come up where the pointer was.
    pub(super) fn release(&mut self, t: MediaTime, out: &mut Vec<Event>) {
        self.end_path(out);
        self.end_wheel(out);
        if let Some(at) = self.at {
            let up = self.changes(Buttons::default()).collect();
            self.click(t, at, up, out);
        }
        self.buttons = Buttons::default();
    }

    /// When [`advance`](Self::advance) has something to end.
    pub(super) fn due(&self) -> Option<MediaTime> {
        let path = self.path.as_ref().map(Path::due);
        let wheel = self.wheel.as_ref().map(Wheel::due);
        path.into_iter().chain(wheel).min()
    }

    /// Ends what falls due by `t`.
    pub(super) fn advance(&mut self, t: MediaTime, out: &mut Vec<Event>) {
        if self.path.as_ref().is_some_and(|path| path.due() <= t) {
            self.end_path(out);
        }
        if self.wheel.as_ref().is_some_and(|wheel| wheel.due() <= t) {
            self.end_wheel(out);
        }
    }

    /// The buttons that come up and go down when `buttons` are down from now on.
    fn changes(&self, buttons: Buttons) -> impl Iterator<Item = (&'static str, Button)> {
        let up = self.buttons.pressed_since(buttons).map(|it| ("up", it));
        let down = buttons.pressed_since(self.buttons).map(|it| ("down", it));
        let wheel = |button: &Button| matches!(button, Button::Wheel { .. });
        up.chain(down).filter(move |(_, button)| !wheel(button))
    }

    fn click(
        &mut self,
        t: MediaTime,
        at: Point,
        clicks: Vec<(&'static str, Button)>,
        out: &mut Vec<Event>,
    ) {
        if !clicks.is_empty() {
            self.end_path(out);
            self.end_wheel(out);
        }
        out.extend(clicks.into_iter().map(|(action, button)| {
            let data = [
                ("action", action.into()),
                ("button", button.as_str().into()),
                ("at", json!([at.x, at.y])),
            ];
            Event::new(t, "pointer", self.origin, data)
        }));
    }

    fn move_to(&mut self, t: MediaTime, at: Point, out: &mut Vec<Event>) {
        let path = self.path.get_or_insert_with(|| Path {
            from: t,
            points: Vec::new(),
        });
        path.points.push((t.ms_since(path.from), at));
        if path.points.len() >= PATH_POINTS {
            self.end_path(out);
        }
    }

    fn turn(&mut self, t: MediaTime, at: Point, dx: i8, dy: i8, out: &mut Vec<Event>) {
        if self.wheel.as_ref().is_some_and(|wheel| wheel.at != at) {
            self.end_wheel(out);
        }
        let wheel = self.wheel.get_or_insert(Wheel {
            from: t,
            last: t,
            at,
            dx: 0,
            dy: 0,
        });
        wheel.last = t;
        wheel.dx = wheel.dx.saturating_add(dx.into());
        wheel.dy = wheel.dy.saturating_add(dy.into());
    }

    fn end_path(&mut self, out: &mut Vec<Event>) {
        let Some(Path { from, points }) = self.path.take() else {
            return;
        };
        let points = points.iter().map(|(dt, at)| json!([dt, at.x, at.y]));
        let path: serde_json::Value = points.collect();
        let data = [("action", "path".into()), ("path", path)];
        out.push(Event::new(from, "pointer", self.origin, data));
    }

    fn end_wheel(&mut self, out: &mut Vec<Event>) {
        let Some(Wheel {
            from, at, dx, dy, ..
        }) = self.wheel.take()
        else {
            return;
        };
        let data = [
            ("at", json!([at.x, at.y])),
            ("dx", dx.into()),
            ("dy", dy.into()),
        ];
        out.push(Event::new(from, "wheel", self.origin, data));
    }
}

impl Path {
    const fn due(&self) -> MediaTime {
        self.from.plus_ms(PATH_MS)
    }
}

impl Wheel {
    fn due(&self) -> MediaTime {
        let pause = self.last.plus_ms(WHEEL_PAUSE_MS);
        pause.min(self.from.plus_ms(WHEEL_MS))
    }
}
