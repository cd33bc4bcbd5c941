//! What a track does by itself as time passes: heartbeats, cuts, rest, and sizes that settle.

use capture::MediaTime;

use super::{
    Output, Shows, Track, TrackError,
    object::{self, Fragment, Idle, Object},
};

/// No sample lasts longer: browsers lose their way between samples further apart.
pub const HEARTBEAT_MS: u64 = 1000;
/// Unbroken idle is committed this often. A whole number of idle GOPs, so that the repetitions of
/// the next object go on in phase.
pub const IDLE_OBJECT_MS: u64 = 10 * object::FRAGMENT_MS;

/// Something a track does by itself once its time has come.
#[derive(Clone, Copy)]
enum Due {
    Heartbeat,
    IdleCut,
    Resize,
}

impl Track {
    /// Does what falls due before `end`: until then the picture is known to have stood.
    pub(super) fn advance(
        &mut self,
        end: MediaTime,
        out: &mut Vec<Output>,
    ) -> Result<(), TrackError> {
        while let Some((at, due)) = self.next_due().filter(|&(at, _)| at < end) {
            match due {
                Due::Heartbeat => self.heartbeat(at, out)?,
                Due::IdleCut => self.close(at, false, out)?,
                Due::Resize => self.take_new_size(at, out)?,
            }
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(MediaTime, Due)> {
        let own = match self.shows {
            Shows::Nothing | Shows::Gap(_) => return None,
            Shows::Samples => {
                // A cut that is due between two heartbeats brings its own picture, exactly there.
                let object = self.object.as_ref().and_then(Object::ends_by);
                let fragment = self.fragment.as_ref().map(Fragment::ends_by);
                let heartbeat = Some(self.last.plus_ms(HEARTBEAT_MS));
                let first = [heartbeat, fragment, object].into_iter().flatten().min()?;
                (first, Due::Heartbeat)
            }
            Shows::Idle(_) => {
                let from = self.object.as_ref().map_or(self.next.from, Object::from);
                let crowded = self.object.as_ref().is_some_and(Object::is_crowded);
                let at = if crowded {
                    self.floor.max(from.plus_ms(1))
                } else {
                    from.plus_ms(IDLE_OBJECT_MS)
                };
                (at, Due::IdleCut)
            }
        };
        let resize = self
            .resize
            .as_ref()
            .map(|resize| (resize.due(), Due::Resize));
        // At a tie the new size goes first: the old picture then needs no heartbeat.
        resize.into_iter().chain([own]).min_by_key(|&(at, _)| at)
    }

    /// The picture stood for another second: says so by a sample, or by resting from now on.
    fn heartbeat(&mut self, t: MediaTime, out: &mut Vec<Output>) -> Result<(), TrackError> {
        match self.cut(t, out)? {
            Some(idle) => {
                self.shows = Shows::Idle(idle);
                Ok(())
            }
            None => self.sample(t, 0, out),
        }
    }

    /// Ends what must end at `t` or before: the fragment, or the object with it. Gives back the
    /// idle GOP if it was one.
    pub(super) fn cut(
        &mut self,
        t: MediaTime,
        out: &mut Vec<Output>,
    ) -> Result<Option<Idle>, TrackError> {
        let (Some(object), Some(fragment)) = (&self.object, &self.fragment) else {
            return Ok(None);
        };
        let idle = object.idle_gop(fragment, t);
        if idle.is_some() || object.is_full(t) {
            self.close(t, false, out)?;
        } else if fragment.is_full(t) {
            self.fragment = None;
        }
        Ok(idle)
    }

    /// The size has settled: from `t` on its picture is shown, in an object of its own.
    fn take_new_size(&mut self, t: MediaTime, out: &mut Vec<Output>) -> Result<(), TrackError> {
        let Some(resize) = self.resize.take() else {
            return Ok(());
        };
        let t = t.max(self.floor);
        self.close(t, false, out)?;
        self.canvas = Some(resize.into_canvas());
        self.codec = None;
        self.sample(t, 1000, out)
    }
}
