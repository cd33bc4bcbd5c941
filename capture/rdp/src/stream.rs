//! From the desktop's size on (MS-RDPBCGR section 1.3.5 and after): messages in, pictures,
//! pointers and answers out; once in a while the desktop changes and is agreed on anew.

use std::{borrow::Cow, collections::VecDeque};

use capture::{
    Damage, Framebuffer, Point, Rect, Size, budget::Budget, cursor::CursorShape,
    input::Input as Act, source::SourceEvent,
};
use ironrdp_bulk::{BulkCompressor, CompressionType};
use ironrdp_connector::{
    ConnectionResult, MultitransportResult, Sequence as _,
    connection_activation::{
        ConnectionActivationFactory, ConnectionActivationSequence, ConnectionActivationState,
    },
};
use ironrdp_core::{MonotonicInstant, WriteBuf, encode_vec};
use ironrdp_pdu::{
    Action, find_size,
    input::{InputEventPdu, fast_path::FastPathInput},
    mcs::{self, SendDataIndication, SendDataIndicationCtx},
    rdp::{
        capability_sets::InputFlags,
        headers::{self, CompressionFlags, ShareControlHeader, ShareControlPdu, ShareDataPdu},
        multitransport::MultitransportResponsePdu,
        session_info::{LogonErrorNotificationType as Refusal, LogonErrorsInfo},
    },
    x224::X224,
};
use ironrdp_session::x224::{DisconnectDescription, Processor, ProcessorOutput};
use ironrdp_svc::SvcProcessorMessages;

use crate::{
    clipboard, ended,
    error::{End, Error, Phase},
    graphics::{self, Graphics},
    input::{self, Hands},
    limits,
    pace::{self, Pace},
    pieces::Pieces,
    request,
};

/// Where a step leaves what it comes to.
pub(crate) struct Output<'a> {
    pub(crate) framebuffer: &'a mut Framebuffer,
    pub(crate) events: &'a mut VecDeque<SourceEvent>,
    pub(crate) out: &'a mut Vec<u8>,
    pub(crate) pixels: &'a mut Budget,
    pub(crate) now_ms: u64,
    /// What was painted.
    pub(crate) damage: Damage,
}

impl Output<'_> {
    /// Takes the right to paint so many pixels.
    pub(crate) fn spend(&mut self, pixels: u64) -> Result<(), Error> {
        let spent = self.pixels.spend(self.now_ms, pixels);
        spent.then_some(()).ok_or(Error::PixelBudget)
    }

    /// Notes that `rect` is painted.
    pub(crate) fn painted(&mut self, rect: Rect) {
        self.damage.add(rect);
    }

    /// Tells of the pointer.
    pub(crate) fn pointer(&mut self, at: Option<Point>, shape: Option<CursorShape>) {
        self.events.push_back(SourceEvent::Cursor { at, shape });
    }
}

/// The clipboard's channel, where it was joined.
struct Clipboard {
    channel: u16,
    client: clipboard::Client,
}

/// A desktop and what is said about it.
pub(crate) struct Stream {
    channels: Processor,
    bulk: Option<BulkCompressor>,
    graphics: Graphics,
    activation: ConnectionActivationFactory,
    /// The desktop is being agreed on anew.
    reactivating: Option<ConnectionActivationSequence>,
    size: Size,
    input_flags: InputFlags,
    /// Whether it is ours to answer. Where we watch what another client is shown, it is that one's,
    /// and all we say is what asks for a picture.
    answers: bool,
    hands: Hands,
    clipboard: Option<Clipboard>,
    resizes: Budget,
    pub(crate) pace: Pace,
}

impl Stream {
    /// The stream that follows a handshake with `result`.
    pub(crate) fn new(
        result: ConnectionResult,
        size: Size,
        proof_every_ms: u64,
        now_ms: u64,
    ) -> Self {
        let joined = result
            .static_channels
            .get_channel_id_by_type::<clipboard::Joined>();
        Self {
            clipboard: joined.map(|channel| Clipboard {
                channel,
                client: clipboard::Client::default(),
            }),
            channels: Processor::new(
                result.static_channels,
                result.user_channel_id,
                result.io_channel_id,
                result.message_channel_id,
                result.share_id,
            ),
            // It unpacks whatever a message says it is packed with.
            bulk: result
                .compression_type
                .map(|_| BulkCompressor::new(CompressionType::Rdp61)),
            graphics: Graphics::default(),
            activation: result.activation_factory,
            reactivating: None,
            size,
            input_flags: result.input_flags,
            answers: true,
            hands: Hands::default(),
            resizes: Budget::new(limits::RESIZES_PER_S, 1, now_ms),
            pace: Pace::new(proof_every_ms, now_ms),
        }
    }

    /// The same, of a desktop that is another client's.
    pub(crate) fn watching(self) -> Self {
        Self {
            answers: false,
            ..self
        }
    }

    /// The desktop's size.
    pub(crate) const fn size(&self) -> Size {
        self.size
    }

    /// Whether nothing has begun that is not ended.
    pub(crate) const fn between_messages(&self) -> bool {
        !self.graphics.is_inside_update() && self.reactivating.is_none()
    }

    /// Takes the next message, if all of it has arrived.
    pub(crate) fn step(
        &mut self,
        pieces: &mut Pieces<'_>,
        output: &mut Output<'_>,
    ) -> Result<bool, Error> {
        let len_of = |bytes: &[u8]| {
            let found = find_size(bytes).map_err(|_| Error::Message)?;
            Ok(found.map(|found| found.length))
        };
        let Some(message) = pieces.next(len_of)? else {
            return Ok(false);
        };
        let action = find_size(&message).ok().flatten().map(|found| found.action);
        if action == Some(Action::X224) && self.hear_clipboard(&message, output)? {
            return Ok(true);
        }
        match (action, self.reactivating.is_some()) {
            (Some(Action::FastPath), false) => {
                self.graphics.fast_path(&message, &mut self.bulk, output)?;
            }
            // Of the desktop that is no more.
            (Some(Action::FastPath), true) => graphics::pass_by(&message, &mut self.bulk)?,
            (Some(Action::X224), false) => self.take(&message, output)?,
            (Some(Action::X224), true) => self.reactivate(&message, output)?,
            (None, _) => return Err(Error::Message),
        }
        Ok(true)
    }

    /// Takes a message if it is one of the clipboard's channel.
    fn hear_clipboard(&mut self, message: &[u8], output: &mut Output<'_>) -> Result<bool, Error> {
        let Some(clipboard) = &mut self.clipboard else {
            return Ok(false);
        };
        match mcs::decode_send_data_indication(message) {
            Ok(sent) if sent.channel_id == clipboard.channel => {
                let told = clipboard.client.hear(sent.user_data)?;
                output.events.extend(told.map(SourceEvent::Clipboard));
                Ok(true)
            }
            // What cannot be read is told by who reads it next.
            Ok(_) | Err(_) => Ok(false),
        }
    }

    /// What there is to say about the clipboard.
    pub(crate) fn talk(&mut self) -> Vec<u8> {
        let said = match &mut self.clipboard {
            Some(clipboard) => clipboard.client.say(),
            None => Vec::new(),
        };
        if said.is_empty() {
            return Vec::new();
        }
        let said = SvcProcessorMessages::<clipboard::Joined>::new(said);
        // None fails: the channel is joined, and a message no longer than its header can say.
        let written = self.channels.process_svc_processor_messages(said);
        written.unwrap_or_default()
    }

    fn take(&mut self, message: &[u8], output: &mut Output<'_>) -> Result<(), Error> {
        let received = MonotonicInstant::from_millis(output.now_ms);
        let taken = self
            .channels
            .process(message, &mut self.bulk, Some(received));
        for taken in taken.map_err(|_| Error::Message)? {
            match taken {
                ProcessorOutput::ResponseFrame(answer) => self.answer(&answer, output),
                ProcessorOutput::GraphicsUpdate(data) => self.graphics.slow_path(&data, output)?,
                ProcessorOutput::PointerUpdate(data) => {
                    self.graphics.slow_path_pointer(&data, output)?;
                }
                ProcessorOutput::DeactivateAll => {
                    self.reactivating = Some(self.activation.create());
                }
                ProcessorOutput::Disconnect(why) => {
                    let end = match why {
                        DisconnectDescription::ErrorInfo(info) => ended::end_of(info),
                        DisconnectDescription::McsDisconnect(_) => None,
                    };
                    return Err(Error::Ended(end.unwrap_or(End::Goodbye)));
                }
                ProcessorOutput::LogonErrors(errors) => refused(&errors)?,
                ProcessorOutput::ServerRedirection(_) => return Err(Error::Redirected),
                ProcessorOutput::MultitransportRequest(asked) => {
                    // UDP beside the connection would pass the encryption and its check by.
                    let soft_sync = false;
                    let refusal = MultitransportResult::Failure(MultitransportResponsePdu::E_ABORT)
                        .response_pdu(asked.request_id, soft_sync);
                    if let Some(refusal) = refusal {
                        let answer = self.channels.encode_multitransport_response(&refusal);
                        self.answer(&answer.map_err(|_| Error::Message)?, output);
                    }
                }
                ProcessorOutput::SaveSessionInfo { .. }
                | ProcessorOutput::SessionId(_)
                | ProcessorOutput::AutoReconnectCookie(_)
                | ProcessorOutput::AutoReconnectFailed
                | ProcessorOutput::AutoDetect(_)
                | ProcessorOutput::MonitorLayout(_) => {}
            }
        }
        Ok(())
    }

    fn answer(&self, answer: &[u8], output: &mut Output<'_>) {
        if self.answers {
            output.out.extend_from_slice(answer);
        }
    }

    /// Agrees on the desktop anew (section 1.3.1.3).
    fn reactivate(&mut self, message: &[u8], output: &mut Output<'_>) -> Result<(), Error> {
        ended::check(message)?;
        let Some(sequence) = &mut self.reactivating else {
            return Ok(());
        };
        let broken = Error::Handshake(Phase::Capabilities);
        let sent = mcs::decode_send_data_indication(message).map_err(|_| Error::Message)?;
        if sent.channel_id != sequence.io_channel_id() {
            return Ok(()); // about the network
        }
        let Some(message) = about_desktop(message, sent, &mut self.bulk)? else {
            return Ok(()); // about the desktop that is no more
        };
        let received = MonotonicInstant::from_millis(output.now_ms);
        let mut message = message.as_ref();
        while !sequence.state().is_terminal() {
            let mut buffer = WriteBuf::new();
            sequence
                .step(message, Some(received), &mut buffer)
                .map_err(|_| broken.clone())?;
            if self.answers {
                output.out.extend_from_slice(buffer.filled());
            }
            message = &[];
            if sequence.next_pdu_hint().is_some() {
                break;
            }
        }
        match sequence.connection_activation_state() {
            ConnectionActivationState::Finalized {
                desktop_size,
                share_id,
                input_flags,
                ..
            } => {
                self.reactivating = None;
                self.channels.set_share_id(share_id);
                self.input_flags = input_flags;
                self.graphics = Graphics::default();
                let size = Size::new(
                    u32::from(desktop_size.width),
                    u32::from(desktop_size.height),
                );
                self.resized(size, output)
            }
            ConnectionActivationState::Redirected { .. } => Err(Error::Redirected),
            _ => Ok(()),
        }
    }

    /// All that was painted is void, be the desktop of the old size. Servers draw a new one unasked;
    /// but xrdp does so before it is agreed on, and then only when asked.
    fn resized(&mut self, size: Size, output: &mut Output<'_>) -> Result<(), Error> {
        if !self.resizes.spend(output.now_ms, 1) {
            return Err(Error::ResizeBudget);
        }
        output.framebuffer.resize(size)?;
        output.damage = Damage::EMPTY;
        self.size = size;
        self.pace.resized(output.now_ms);
        output.events.push_back(SourceEvent::Resize(size));
        output.out.extend(self.said(request::refresh(size.rect())));
        Ok(())
    }

    /// What asks the server for a proof of its picture.
    pub(crate) fn ask_for_proof(&self) -> Vec<u8> {
        self.said(request::refresh(pace::CORNER))
    }

    /// What operates the machine as `act` says.
    pub(crate) fn operate(&mut self, act: &Act) -> Vec<u8> {
        if !self.answers {
            return Vec::new();
        }
        if let (Act::Clipboard(content), Some(clipboard)) = (act, &mut self.clipboard) {
            let text = content.text.clone();
            text.into_iter().for_each(|text| clipboard.client.put(text));
            return self.talk();
        }
        let events = self.hands.events(act);
        let short = InputFlags::FASTPATH_INPUT | InputFlags::FASTPATH_INPUT_2;
        if self.input_flags.intersects(short) {
            let written = FastPathInput::new(events).ok();
            // None fails: where there are no events, there is nothing to say.
            return written
                .and_then(|input| encode_vec(&input).ok())
                .unwrap_or_default();
        }
        let events: Vec<_> = events.into_iter().filter_map(input::long_form).collect();
        match events.is_empty() {
            true => Vec::new(),
            false => self.said(ShareDataPdu::Input(InputEventPdu(events))),
        }
    }

    /// Which of `acts`, done in this order, the server cannot be told, and why. It is told nothing.
    pub(crate) fn refusal(&self, acts: &[Act]) -> Option<(usize, &'static str)> {
        let mut hands = self.hands.clone();
        let mut refuse = |act: &Act| {
            let events = hands.events(act);
            match act {
                Act::Clipboard(_) if self.clipboard.is_none() => {
                    Some("this server has no clipboard")
                }
                Act::Key(_) if events.is_empty() => Some("RDP has no such key"),
                Act::Key(_) if !self.input_flags.contains(InputFlags::UNICODE) => {
                    events.iter().any(input::is_unicode).then_some(
                        "this server takes what an American keyboard types, with Shift held for it",
                    )
                }
                Act::Key(_) | Act::Pointer(_) | Act::Clipboard(_) => None,
            }
        };
        let mut acts = acts.iter().enumerate();
        acts.find_map(|(place, act)| refuse(act).map(|why| (place, why)))
    }

    /// The message that holds `what`.
    fn said(&self, what: ShareDataPdu) -> Vec<u8> {
        let mut buffer = WriteBuf::new();
        // What we say has no part of unbounded length, so it can be written.
        let written = self.channels.encode_static(&mut buffer, what);
        written.map_or_else(|_| Vec::new(), |_| buffer.into_inner())
    }
}

/// A message if it belongs to agreeing on a desktop, as it was before it was packed. Others may come
/// in between: xrdp goes on to tell of the old one. They are unpacked as well, since what is packed
/// later refers to them.
fn about_desktop<'a>(
    message: &'a [u8],
    sent: SendDataIndicationCtx<'_>,
    bulk: &mut Option<BulkCompressor>,
) -> Result<Option<Cow<'a, [u8]>>, Error> {
    let Ok(context) = headers::decode_share_control(sent) else {
        return Ok(Some(Cow::Borrowed(message))); // which is told by who reads it next
    };
    let ShareControlPdu::Data(mut data) = context.pdu else {
        return Ok(Some(Cow::Borrowed(message)));
    };
    let packed = match &data.share_data_pdu {
        ShareDataPdu::Compressed {
            pdu_type,
            data: packed,
        } => {
            let flags = data.compression_flags.bits() | data.compression_type.as_u8();
            let unpacked = graphics::unpack(packed, flags, bulk)?;
            let told = ShareDataPdu::decode_with_type(unpacked, *pdu_type);
            data.share_data_pdu = told.map_err(|_| Error::Message)?;
            data.compression_flags = CompressionFlags::empty();
            true
        }
        _ => false,
    };
    let belongs = matches!(
        data.share_data_pdu,
        ShareDataPdu::Synchronize(_)
            | ShareDataPdu::Control(_)
            | ShareDataPdu::FontMap(_)
            | ShareDataPdu::MonitorLayout(_)
    );
    if !belongs || !packed {
        return Ok(belongs.then_some(Cow::Borrowed(message)));
    }
    let header = ShareControlHeader {
        share_control_pdu: ShareControlPdu::Data(data),
        pdu_source: context.pdu_source,
        share_id: context.share_id,
    };
    let user_data = encode_vec(&header).map_err(|_| Error::Message)?;
    let unpacked = encode_vec(&X224(SendDataIndication {
        initiator_id: sent.initiator_id,
        channel_id: sent.channel_id,
        user_data: user_data.into(),
    }));
    let unpacked = unpacked.map_err(|_| Error::Message)?;
    Ok(Some(Cow::Owned(unpacked)))
}

/// What a server says of a sign-in that it had not been asked to check first (section 2.2.10.1).
fn refused(errors: &LogonErrorsInfo) -> Result<(), Error> {
    match errors.error_type {
        Refusal::NtStatus(status) => Err(Error::of_status(status)),
        Refusal::AccessDenied | Refusal::NoPermission => Err(Error::AccessDenied),
        // About others in the same session, or that all is well.
        _ => Ok(()),
    }
}
