//! Static virtual channels (MS-RDPBCGR section 3.1.5.2): which of them go through.

use ironrdp_pdu::gcc::ChannelDef;

use super::End;

/// The clipboard's channel (MS-RDPECLIP).
pub(super) const CLIPBOARD: &str = "cliprdr";
/// The channel that others go through (MS-RDPEDYC).
const DYNAMIC: &str = "drdynvc";

/// Which channels are forwarded, by name. The rest are joined, so that neither end misses one, and
/// carry nothing.
///
/// `drdynvc` is never forwarded: graphics and input of current servers would go through it unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channels {
    forwarded: Vec<String>,
}

impl Channels {
    /// Forwards the channels of these names.
    #[must_use]
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let forwarded = names.into_iter().filter(|name| name != DYNAMIC);
        Self {
            forwarded: forwarded.collect(),
        }
    }

    fn forwards(&self, name: &str) -> bool {
        self.forwarded.iter().any(|forwarded| forwarded == name)
    }
}

/// The clipboard alone: sound, drives, printers and smart cards stay where they are.
impl Default for Channels {
    fn default() -> Self {
        Self::new([CLIPBOARD.to_owned()])
    }
}

/// What was dropped of a channel that is not forwarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// The channel's name, as the driver told it.
    pub name: String,
    /// Messages of the driver.
    pub driver_messages: u64,
    /// Messages of the machine.
    pub server_messages: u64,
}

/// The channels of one connection.
#[derive(Debug, Default)]
pub(super) struct Opened {
    channels: Vec<Channel>,
}

#[derive(Debug)]
struct Channel {
    id: Option<u16>,
    forwarded: bool,
    dropped: Dropped,
}

/// What becomes of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It goes on.
    Forward,
    /// It goes on, and is the clipboard's.
    Clipboard,
    /// It ends here.
    Drop,
}

impl Opened {
    /// Those that a driver asks for.
    pub(super) fn asked(asked: &[ChannelDef], policy: &Channels) -> Self {
        let channels = asked.iter().map(|channel| {
            // Names are ASCII; what is not is forwarded to nobody.
            let name = channel.name.as_str().unwrap_or_default();
            Channel {
                id: None,
                forwarded: policy.forwards(name),
                dropped: Dropped {
                    name: name.to_owned(),
                    driver_messages: 0,
                    server_messages: 0,
                },
            }
        });
        Self {
            channels: channels.collect(),
        }
    }

    /// The machine gives them their numbers, in their order; false when it cannot mean that.
    pub(super) fn numbered(&mut self, ids: &[u16], io_channel: u16) -> bool {
        let distinct = (ids.iter().enumerate())
            .all(|(at, id)| *id != io_channel && !ids.iter().take(at).any(|other| other == id));
        for (channel, id) in self.channels.iter_mut().zip(ids) {
            // A channel that cannot be had has the number zero.
            channel.id = (*id != 0).then_some(*id);
        }
        distinct && self.channels.len() == ids.len()
    }

    /// Counts a message of `from`, and says what becomes of it; nothing when there is no such
    /// channel.
    pub(super) fn way(&mut self, id: u16, from: End) -> Option<Way> {
        let channel = self.channels.iter_mut().find(|one| one.id == Some(id))?;
        if channel.forwarded {
            return Some(match channel.dropped.name.as_str() {
                CLIPBOARD => Way::Clipboard,
                _ => Way::Forward,
            });
        }
        let counted = match from {
            End::Driver => &mut channel.dropped.driver_messages,
            End::Server => &mut channel.dropped.server_messages,
        };
        *counted = counted.saturating_add(1);
        Some(Way::Drop)
    }

    /// What was dropped so far, channel by channel.
    pub(super) fn dropped(&self) -> impl Iterator<Item = &Dropped> {
        let told = |dropped: &&Dropped| dropped.driver_messages > 0 || dropped.server_messages > 0;
        self.channels.iter().map(|one| &one.dropped).filter(told)
    }
}

#[cfg(test)]
mod tests {
    use ironrdp_pdu::gcc::{ChannelName, ChannelOptions};

    use super::*;

    fn opened(names: &[&str]) -> Opened {
        let asked: Vec<ChannelDef> = (names.iter())
            .map(|name| ChannelDef {
                name: ChannelName::from_utf8(name).unwrap(),
                options: ChannelOptions::empty(),
            })
            .collect();
        let policy = Channels::new(["cliprdr", "rail", "drdynvc"].map(str::to_owned));
        Opened::asked(&asked, &policy)
    }

    #[test]
    fn channels_that_are_not_forwarded_are_dropped_and_counted() {
        let mut opened = opened(&["rdpsnd", "cliprdr", "drdynvc", "rail"]);
        assert!(opened.numbered(&[1004, 1005, 1006, 1007], 1003));
        assert_eq!(opened.way(1004, End::Driver), Some(Way::Drop));
        assert_eq!(opened.way(1004, End::Server), Some(Way::Drop));
        assert_eq!(opened.way(1005, End::Server), Some(Way::Clipboard));
        assert_eq!(opened.way(1006, End::Server), Some(Way::Drop));
        assert_eq!(opened.way(1007, End::Driver), Some(Way::Forward));
        assert_eq!(opened.way(1008, End::Driver), None);
        let counts: Vec<_> = (opened.dropped())
            .map(|one| (one.name.as_str(), one.driver_messages, one.server_messages))
            .collect();
        assert_eq!(counts, [("rdpsnd", 1, 1), ("drdynvc", 0, 1)]);
    }

    #[test]
    fn channels_cannot_share_a_number() {
        assert!(!opened(&["rdpsnd", "cliprdr"]).numbered(&[1004, 1004], 1003));
        assert!(!opened(&["rdpsnd", "cliprdr"]).numbered(&[1004, 1003], 1003));
        assert!(!opened(&["rdpsnd", "cliprdr"]).numbered(&[1004], 1003));
    }
}
