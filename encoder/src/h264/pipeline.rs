//! A GStreamer pipeline that codes one picture at a time (encoding.md, "Encoder").
//!
//! `appsrc ! encoder ! appsink`, driven in step: a picture goes in, its access unit comes out.
//! The nominal frame rate in the caps matters: with `0/1` x264enc holds one picture back.

use capture::{MediaTime, Size};
use gstreamer::{self as gst, prelude::*};
use gstreamer_app::{AppSink, AppSrc};
use gstreamer_video as gst_video;

use super::{Codec, CodecError, CodedFrame};
use crate::RedactedFrame;

/// An 8K key frame takes well under a second; after this the encoder will not answer any more.
const STALL_MS: u64 = 10_000;
/// The encoder holds one picture while the next is filled.
const BUFFERS_MIN: u32 = 2;

/// A running encoder for pictures of one size.
pub struct Pipeline {
    size: Size,
    pipeline: gst::Pipeline,
    source: AppSrc,
    sink: AppSink,
    encoder: gst::Element,
    buffers: gst::BufferPool,
    avcc: Vec<u8>,
}

impl Pipeline {
    /// Starts the encoder that `elements` describe for pictures of `size`.
    ///
    /// # Errors
    /// When an element is missing or refuses the size.
    pub(super) fn new(elements: String, size: Size, fps_max: u32) -> Result<Self, CodecError> {
        gst::init().map_err(CodecError::Init)?;
        let failed = |reason: String| CodecError::Start { size, reason };
        let caps = picture_caps(size, fps_max).map_err(failed)?;
        let line = format!(
            "appsrc name=source is-live=true format=time block=false \
             ! {elements} ! appsink name=sink sync=false max-buffers=2"
        );
        let built = gst::parse::launch(&line).map_err(|error| failed(error.to_string()))?;
        let pipeline: gst::Pipeline = cast(built).map_err(failed)?;
        let element = |name: &str| {
            let found = pipeline.by_name(name);
            found.ok_or_else(|| failed(format!("no element {name}")))
        };
        let this = Self {
            size,
            source: cast(element("source")?).map_err(failed)?,
            sink: cast(element("sink")?).map_err(failed)?,
            encoder: element("encoder")?,
            buffers: buffers(&caps, picture_bytes(size)).map_err(failed)?,
            pipeline,
            avcc: Vec::new(),
        };
        this.source.set_caps(Some(&caps));
        let started = this.pipeline.set_state(gst::State::Playing);
        started.map_err(|error| failed(this.reason().unwrap_or_else(|| error.to_string())))?;
        Ok(this)
    }

    /// A copy of the picture as the buffer at `t`.
    fn buffer(&self, frame: &RedactedFrame<'_>, t: MediaTime) -> Result<gst::Buffer, String> {
        let buffer = self.buffers.acquire_buffer(None);
        let mut buffer = buffer.map_err(|error| format!("no buffer: {error:?}"))?;
        let writable = buffer.get_mut().ok_or("the buffer is in use")?;
        writable.set_pts(gst::ClockTime::from_mseconds(t.ms()));
        let copied = writable.copy_from_slice(0, frame.bytes());
        copied.map_err(|copied| format!("only {copied} bytes fit the buffer"))?;
        Ok(buffer)
    }

    /// The error on the bus, if any.
    fn reason(&self) -> Option<String> {
        let message = self
            .pipeline
            .bus()?
            .pop_filtered(&[gst::MessageType::Error])?;
        match message.view() {
            gst::MessageView::Error(error) => Some(error.error().to_string()),
            _ => None,
        }
    }

    /// Takes the stream's parameters from the caps, which must not change.
    fn note_parameters(&mut self, sample: &gst::Sample) -> Option<()> {
        let structure = sample.caps()?.structure(0)?;
        let codec_data = structure.get::<gst::Buffer>("codec_data").ok()?;
        let avcc = codec_data.map_readable().ok()?;
        if self.avcc.is_empty() {
            self.avcc = avcc.to_vec();
        }
        (!self.avcc.is_empty() && self.avcc == *avcc).then_some(())
    }
}

impl Codec for Pipeline {
    fn encode(
        &mut self,
        frame: &RedactedFrame<'_>,
        t: MediaTime,
        force_key: bool,
    ) -> Result<CodedFrame, CodecError> {
        if frame.coded() != self.size {
            return Err(CodecError::Size {
                expected: self.size,
                found: frame.coded(),
            });
        }
        let failed = |reason: String| CodecError::Failed { t, reason };
        let time = gst::ClockTime::from_mseconds(t.ms());
        if force_key {
            // Without a time it holds for the next picture, which is this one.
            let event = gst_video::UpstreamForceKeyUnitEvent::builder()
                .all_headers(true)
                .build();
            self.encoder.send_event(event);
        }
        let buffer = self.buffer(frame, t).map_err(failed)?;
        if let Err(error) = self.source.push_buffer(buffer) {
            return Err(failed(self.reason().unwrap_or_else(|| error.to_string())));
        }
        let wait = gst::ClockTime::from_mseconds(STALL_MS);
        let Some(sample) = self.sink.try_pull_sample(wait) else {
            return Err(match self.reason() {
                Some(reason) => failed(reason),
                None => CodecError::Stalled {
                    t,
                    waited_ms: STALL_MS,
                },
            });
        };
        self.note_parameters(&sample)
            .ok_or(CodecError::Parameters { t })?;
        let unit = sample
            .buffer()
            .ok_or_else(|| failed("an empty sample".into()))?;
        // Encoders shift their stamps to leave room for reordering; running time undoes that.
        let segment = sample
            .segment()
            .and_then(gst::Segment::downcast_ref::<gst::ClockTime>);
        let found = segment.and_then(|segment| segment.to_running_time(unit.pts()));
        if found != Some(time) {
            return Err(CodecError::WrongTime {
                t,
                found_ns: found.map(gst::ClockTime::nseconds),
            });
        }
        let key = !unit.flags().contains(gst::BufferFlags::DELTA_UNIT);
        if force_key && !key {
            return Err(CodecError::NotKey { t });
        }
        let bytes = unit
            .map_readable()
            .map_err(|error| failed(error.to_string()))?;
        Ok(CodedFrame {
            key,
            bytes: bytes.to_vec(),
        })
    }

    fn avcc(&self) -> &[u8] {
        &self.avcc
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        // Without this its threads would outlive it. Nothing is left to be said if it fails.
        let _ = self.pipeline.set_state(gst::State::Null);
        let _ = self.buffers.set_active(false);
    }
}

/// I420, BT.709 limited, progressive, chroma between four pixels as `Canvas` averages it.
fn picture_caps(size: Size, fps_max: u32) -> Result<gst::Caps, String> {
    let side = |px: u32| i32::try_from(px).map_err(|error| error.to_string());
    Ok(gst::Caps::builder("video/x-raw")
        .field("format", "I420")
        .field("width", side(size.w)?)
        .field("height", side(size.h)?)
        .field("framerate", gst::Fraction::new(side(fps_max.max(1))?, 1))
        .field("pixel-aspect-ratio", gst::Fraction::new(1, 1))
        .field("interlace-mode", "progressive")
        .field("colorimetry", "bt709")
        .field("chroma-site", "jpeg")
        .build())
}

fn picture_bytes(size: Size) -> u32 {
    let info = gst_video::VideoInfo::builder(gst_video::VideoFormat::I420, size.w, size.h).build();
    info.ok()
        .and_then(|info| u32::try_from(info.size()).ok())
        .unwrap_or(0)
}

/// Buffers that come back when the encoder has done with them, so a frame allocates nothing.
fn buffers(caps: &gst::Caps, bytes: u32) -> Result<gst::BufferPool, String> {
    let pool = gst::BufferPool::new();
    let mut config = pool.config();
    config.set_params(Some(caps), bytes, BUFFERS_MIN, 0);
    pool.set_config(config).map_err(|error| error.to_string())?;
    pool.set_active(true).map_err(|error| error.to_string())?;
    Ok(pool)
}

fn cast<T: IsA<gst::Element>>(element: gst::Element) -> Result<T, String> {
    let found = element.downcast::<T>();
    found.map_err(|element| format!("{} is of another kind", element.name()))
}

#[cfg(test)]
mod tests {
    use capture::{Damage, Framebuffer, Rect};
    use policy::{Marks, Policy};

    use super::*;
    use crate::{Canvas, Encoder, Redactor, h264};

    /// A screen of text-like noise that scrolls, so that there is something to code.
    struct Desk {
        framebuffer: Framebuffer,
        canvas: Canvas,
        redactor: Redactor,
    }

    impl Desk {
        fn new(size: Size) -> Self {
            let mut framebuffer = Framebuffer::new(size, 1).unwrap();
            for y in 0..size.h {
                for (x, px) in (0u32..).zip(framebuffer.row_mut(0, y, size.w).chunks_exact_mut(4)) {
                    let ink = (x / 2 * 7 + y / 2 * 13).is_multiple_of(5);
                    px.fill(if ink { 20 } else { 240 });
                }
            }
            let mut desk = Self {
                canvas: Canvas::new(size),
                redactor: Redactor::new(Policy::default(), Marks::default()),
                framebuffer,
            };
            desk.paint(size.rect());
            desk
        }

        fn paint(&mut self, rect: Rect) {
            self.canvas
                .paint(&self.framebuffer, None, &Damage::of(rect))
                .unwrap();
        }

        fn frame(&mut self) -> RedactedFrame<'_> {
            self.redactor.redact(&mut self.canvas)
        }
    }

    fn t(ms: u64) -> MediaTime {
        MediaTime::from_ms(ms)
    }

    /// Codes irregular changes and then a still picture. `encode` itself asserts that each
    /// access unit comes out before the next picture goes in, at that picture's exact time.
    fn check(encoder: Encoder, size: Size, heartbeat_bytes_max: usize) {
        let mut codec = h264::opener(encoder, 15)(Desk::new(size).canvas.coded()).unwrap();
        let mut desk = Desk::new(size);
        let mut at = 7;
        for n in 0u32..60 {
            let caret = Rect::new(n * 9 % size.w, n * 5 % size.h, 8, 14);
            desk.framebuffer
                .fill(caret, [u8::try_from(n * 4).unwrap(); 4]);
            desk.paint(caret.intersection(size.rect()));
            let force = n % 20 == 0;
            let coded = codec.encode(&desk.frame(), t(at), force).unwrap();
            assert_eq!(coded.key, force, "{encoder} {size} picture {n}");
            check_avc(&coded);
            at += u64::from(1 + n * n % 700);
        }
        let mut sizes = Vec::new();
        for _ in 0..5 {
            at += 1000;
            let coded = codec.encode(&desk.frame(), t(at), false).unwrap();
            assert!(!coded.key);
            sizes.push(coded.bytes.len());
        }
        assert!(
            sizes[2] <= heartbeat_bytes_max,
            "{encoder} {size} heartbeats: {sizes:?}"
        );
        // After hours of rest the next picture is as exact as any.
        let coded = codec
            .encode(&desk.frame(), t(at + 36_000_000), true)
            .unwrap();
        assert!(coded.key);
        assert_eq!(codec.avcc()[0], 1);
    }

    /// The unit is whole NAL units with 4-byte lengths.
    fn check_avc(coded: &CodedFrame) {
        let mut rest = coded.bytes.as_slice();
        while let Some((len, tail)) = rest.split_first_chunk::<4>() {
            rest = &tail[u32::from_be_bytes(*len) as usize..];
        }
        assert!(rest.is_empty() && !coded.bytes.is_empty());
    }

    #[test]
    fn x264_codes_each_picture_at_once_and_settles_on_a_still_one() {
        check(Encoder::X264, Size::new(1280, 720), 200);
    }

    #[test]
    fn openh264_codes_each_picture_at_once_and_settles_on_a_still_one() {
        check(Encoder::Openh264, Size::new(1280, 720), 1500);
    }

    #[test]
    fn any_size_is_coded() {
        for encoder in [Encoder::X264, Encoder::Openh264] {
            for (w, h) in [(1, 1), (2, 2), (2, 300), (33, 17), (1599, 899), (1366, 768)] {
                check(encoder, Size::new(w, h), 2000);
            }
        }
    }

    #[test]
    fn a_picture_of_another_size_is_refused() {
        let mut codec = h264::opener(Encoder::Auto, 15)(Size::new(64, 64)).unwrap();
        let refused = codec.encode(&Desk::new(Size::new(64, 66)).frame(), t(0), true);
        assert!(matches!(refused, Err(CodecError::Size { .. })));
    }

    #[test]
    fn hardware_is_found_or_named_as_missing() {
        match h264::opener(Encoder::Hardware, 15)(Size::new(64, 64)) {
            Ok(_) => eprintln!("a hardware encoder is here"),
            Err(error) => assert!(error.to_string().contains("vah264enc"), "{error}"),
        }
    }
}
