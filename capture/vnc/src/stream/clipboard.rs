//! What the desktop puts on its clipboard: `ServerCutText` (RFC 6143 section 7.6.4), and the
//! extended clipboard where it was asked for.

use capture::{
    input::{Clipboard, Direction, Format},
    source::SourceEvent,
};

use super::{Expect, Output, Stream};
use crate::{
    clipboard::{self, ClipboardError, Extended, FLAGS_BYTES, HEAD_BYTES},
    encoding,
    error::Error,
    input::Input,
    limits,
};

impl Stream {
    pub(super) fn server_cut_text(
        &mut self,
        input: &mut Input<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let Some([_, _, _, _, length @ ..]) = input.peek_array::<HEAD_BYTES>() else {
            return Ok(false);
        };
        // A negative length marks the extended clipboard, which is no text.
        let signed = i32::from_be_bytes(length);
        let len_bytes = signed.unsigned_abs();
        let extended = signed < 0;
        if len_bytes > limits::CLIPBOARD_SKIPPED_BYTES {
            return Err(ClipboardError::TooLong { len_bytes }.into());
        }
        let wanted = !extended || self.offered.contains(&encoding::EXTENDED_CLIPBOARD);
        if len_bytes > limits::CLIPBOARD_KEPT_BYTES || !wanted {
            return Ok(self.skip_cut_text(wanted, signed, input));
        }
        let whole = (len_bytes as usize).saturating_add(HEAD_BYTES);
        let Some(body) = input.peek(whole).and_then(|bytes| bytes.get(HEAD_BYTES..)) else {
            return Ok(false);
        };
        if extended {
            let said = clipboard::parse(body, limits::CLIPBOARD_KEPT_BYTES)?;
            self.talk.hear(&said);
            tell(said, output);
        } else {
            // Latin-1, whose code points are Unicode's first.
            let text: String = body.iter().map(|&byte| char::from(byte)).collect();
            let formats = (!text.is_empty()).then_some(Format::Text);
            output.tell_clipboard(formats.into_iter().collect(), Some(text));
        }
        input.consume(whole);
        Ok(true)
    }

    /// Reads past a clipboard; of one that is wanted, what it is and how long is told in the end.
    fn skip_cut_text(&mut self, wanted: bool, signed: i32, input: &mut Input<'_>) -> bool {
        let flags = if wanted && signed < 0 { FLAGS_BYTES } else { 0 };
        let Some(head) = input.peek(HEAD_BYTES.saturating_add(flags)) else {
            return false;
        };
        let formats = match head.last_chunk() {
            Some(&named) if flags > 0 => clipboard::forms(named).formats(),
            _ => vec![Format::Text],
        };
        let len_bytes = signed.unsigned_abs();
        let event = wanted.then(|| {
            SourceEvent::Clipboard(Clipboard {
                direction: Direction::FromMachine,
                formats,
                text: None,
                len_bytes: len_bytes.into(),
            })
        });
        input.consume(HEAD_BYTES.saturating_add(flags));
        self.expect = Expect::Skip((len_bytes as usize).saturating_sub(flags), event);
        true
    }
}

/// Tells what the desktop's clipboard holds, once that is known.
fn tell(said: Extended, output: &mut Output<'_>) {
    match said {
        Extended::Notify(forms) if !forms.has_text() => {
            output.tell_clipboard(forms.formats(), None);
        }
        Extended::Provide(content) => {
            let content = content.clipboard(Direction::FromMachine);
            output.events.push_back(SourceEvent::Clipboard(content));
        }
        Extended::Notify(_) | Extended::Caps { .. } | Extended::Request(_) | Extended::Peek => {}
    }
}

impl Output<'_> {
    fn tell_clipboard(&mut self, formats: Vec<Format>, text: Option<String>) {
        self.events.push_back(SourceEvent::Clipboard(Clipboard {
            direction: Direction::FromMachine,
            formats,
            len_bytes: text.as_ref().map_or(0, |text| text.len() as u64),
            text,
        }));
    }
}
