//! The client's side of the clipboard: the machine's text is asked for as soon as it is offered,
//! and text of ours is given when the machine asks.

use capture::input::{Clipboard, Direction};
use ironrdp_core::impl_as_any;
use ironrdp_pdu::{PduResult, gcc::ChannelName};
use ironrdp_svc::{ChannelFlags, SvcClientProcessor, SvcMessage, SvcProcessor};

use super::{
    CF_UNICODETEXT, ClipboardError, Offer,
    chunks::Chunks,
    encode,
    message::{self, Said},
    tap::content_of,
};

/// Joins the channel; what comes over it is read by [`Client`], which holds no more of it than is
/// bounded.
#[derive(Debug)]
pub(crate) struct Joined;

impl_as_any!(Joined);

impl SvcProcessor for Joined {
    fn channel_name(&self) -> ChannelName {
        ChannelName::from_static(b"cliprdr\0")
    }

    fn process(&mut self, _: &[u8]) -> PduResult<Vec<SvcMessage>> {
        Ok(Vec::new())
    }
}

impl SvcClientProcessor for Joined {}

/// One connection's clipboard. What is due is said at most once however often it is asked for.
#[derive(Default)]
pub(crate) struct Client {
    chunks: Chunks,
    /// The server names forms by names of any length.
    long_names: bool,
    /// The server has said that it is there.
    ready: bool,
    /// What is on the machine's clipboard.
    offer: Offer,
    /// The form that was asked for and has not come.
    asked: Option<u32>,
    /// What is on ours, if anything was put there.
    text: Option<String>,
    due: Due,
}

/// What is to be said.
#[derive(Default)]
struct Due {
    capabilities: bool,
    offer: bool,
    heard: bool,
    request: bool,
    /// The content in this form.
    content: Option<u32>,
}

impl Client {
    /// Takes a chunk of the channel with its header, and tells what the machine has put on its
    /// clipboard, once that is known.
    pub(crate) fn hear(&mut self, chunk: &[u8]) -> Result<Option<Clipboard>, ClipboardError> {
        let Some(whole) = self.chunks.add(chunk)? else {
            return Ok(None);
        };
        let way = Direction::FromMachine;
        match whole.read()? {
            Said::Capabilities { long_names } => self.long_names = long_names,
            Said::Ready => {
                self.ready = true;
                self.due.capabilities = true;
                self.due.offer = true;
            }
            Said::Offer(listed) => {
                self.offer = listed.read(!self.long_names);
                self.due.heard = true;
                self.due.request = self.offer.text().is_some();
                if !self.due.request {
                    return Ok(Some(Clipboard {
                        direction: way,
                        formats: self.offer.formats(),
                        text: None,
                        len_bytes: 0,
                    }));
                }
            }
            Said::Request(form) => self.due.content = Some(form),
            Said::Content(content) => {
                let asked = self.asked.take();
                let known = asked.and_then(|form| Some((form, self.offer.format(form)?)));
                return Ok(known
                    .zip(content)
                    .map(|(known, (bytes, len_bytes))| Clipboard {
                        formats: self.offer.formats(),
                        ..content_of(way, known, bytes, len_bytes)
                    }));
            }
            Said::Other => {}
        }
        Ok(None)
    }

    /// There is new text on our clipboard.
    pub(crate) fn put(&mut self, text: String) {
        self.text = Some(text);
        self.due.offer = true;
    }

    /// The messages that are due.
    pub(crate) fn say(&mut self) -> Vec<SvcMessage> {
        if !self.ready {
            return Vec::new();
        }
        let due = std::mem::take(&mut self.due);
        let mut said = Vec::new();
        if due.capabilities {
            said.push(message::capabilities());
        }
        if due.heard {
            said.push(message::heard());
        }
        // The first offer is due even when it is empty: it says that we are there.
        if due.offer {
            let form = self.text.is_some().then_some(CF_UNICODETEXT);
            said.push(message::offer(form, !self.long_names));
        }
        match self.offer.text().filter(|_| due.request) {
            // One at a time: the other comes first, or does not.
            Some(_) if self.asked.is_some() => self.due.request = true,
            Some(form) => {
                self.asked = Some(form);
                said.push(message::request(form));
            }
            None => {}
        }
        if let Some(form) = due.content {
            let text = self.text.as_deref().filter(|_| form == CF_UNICODETEXT);
            let content = text.map(encode);
            said.push(message::content(content.as_deref()));
        }
        let as_is = |said: Vec<u8>| SvcMessage::from(said).with_flags(ChannelFlags::SHOW_PROTOCOL);
        said.into_iter().map(as_is).collect()
    }
}

#[cfg(test)]
mod tests {
    use capture::input::Format;

    use super::{super::chunks::tests::cut, *};

    fn hear(client: &mut Client, message: &[u8]) -> Option<Clipboard> {
        let mut chunks = cut(message, 1600).into_iter();
        chunks.find_map(|chunk| client.hear(&chunk).unwrap())
    }

    fn said(client: &mut Client) -> Vec<Vec<u8>> {
        let said = client.say().into_iter();
        said.map(|message| message.encode_unframed_pdu().unwrap())
            .collect()
    }

    /// One that the server has greeted.
    fn greeted() -> Client {
        let mut client = Client::default();
        hear(&mut client, &message::capabilities());
        assert_eq!(said(&mut client), [] as [Vec<u8>; 0]);
        hear(&mut client, &[1, 0, 0, 0, 0, 0, 0, 0]);
        client
    }

    #[test]
    fn a_server_that_is_there_is_told_what_we_can_and_have() {
        let mut client = greeted();
        let first = [message::capabilities(), message::offer(None, false)];
        assert_eq!(said(&mut client), first);
        assert_eq!(said(&mut client), [] as [Vec<u8>; 0]);
    }

    #[test]
    fn text_that_is_offered_is_asked_for_and_told() {
        let mut client = greeted();
        said(&mut client);
        let offer = message::offer(Some(CF_UNICODETEXT), false);
        assert_eq!(hear(&mut client, &offer), None);
        let asked = [message::heard(), message::request(CF_UNICODETEXT)];
        assert_eq!(said(&mut client), asked);
        let content = message::content(Some(&encode("copied")));
        let told = hear(&mut client, &content).unwrap();
        assert_eq!(told.text.as_deref(), Some("copied"));
        assert_eq!(told.formats, [Format::Text]);
        assert_eq!(told.direction, Direction::FromMachine);
        assert_eq!(hear(&mut client, &content), None);
    }

    #[test]
    fn what_has_no_text_is_told_and_not_asked_for() {
        let mut client = greeted();
        said(&mut client);
        let told = hear(&mut client, &message::offer(Some(8), false)).unwrap();
        assert_eq!(told.formats, [Format::Image]);
        assert_eq!(said(&mut client), [message::heard()]);
    }

    #[test]
    fn text_put_before_the_server_is_there_is_offered_then() {
        let mut client = Client::default();
        client.put("ours".into());
        assert_eq!(said(&mut client), [] as [Vec<u8>; 0]);
        hear(&mut client, &[1, 0, 0, 0, 0, 0, 0, 0]);
        let offer = message::offer(Some(CF_UNICODETEXT), true);
        assert_eq!(said(&mut client), [message::capabilities(), offer]);
    }

    #[test]
    fn our_text_is_given_when_it_is_asked_for() {
        let mut client = greeted();
        client.put("ours".into());
        said(&mut client);
        hear(&mut client, &message::request(CF_UNICODETEXT));
        let text = encode("ours");
        assert_eq!(said(&mut client), [message::content(Some(&text))]);
        hear(&mut client, &message::request(49_161));
        assert_eq!(said(&mut client), [message::content(None)]);
    }

    #[test]
    fn however_often_it_is_asked_for_it_is_given_once() {
        let mut client = greeted();
        client.put("ours".into());
        said(&mut client);
        for _ in 0..1000 {
            hear(&mut client, &message::request(CF_UNICODETEXT));
        }
        assert_eq!(said(&mut client).len(), 1);
    }

    #[test]
    fn what_is_offered_while_an_answer_is_owed_is_asked_for_after_it() {
        let mut client = greeted();
        said(&mut client);
        let offer = message::offer(Some(CF_UNICODETEXT), false);
        let (heard, request) = (message::heard(), message::request(CF_UNICODETEXT));
        hear(&mut client, &offer);
        assert_eq!(said(&mut client), [heard.clone(), request.clone()]);
        hear(&mut client, &offer);
        assert_eq!(said(&mut client), [heard]);
        hear(&mut client, &message::content(None));
        assert_eq!(said(&mut client), [request]);
    }
}
