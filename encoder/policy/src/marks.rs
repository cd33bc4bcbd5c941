//! Which marks are open: between which moments secrets are entered or regions are masked.

use capture::mark::Mark;
use serde::{Deserialize, Serialize};

use crate::Policy;

/// The mark that begins something and the one that ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// The name of the mark that begins it.
    pub from_mark: String,
    /// The name of the mark that ends it.
    pub to_mark: String,
}

/// The marks that have begun and not ended. A recorder that is started again must know them
/// before its first picture and its first key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Marks {
    /// It is not known which are open: everything is suppressed and masked.
    Unknown,
    /// These, by the name that began them, once for each time it did.
    Open(Vec<String>),
}

impl Default for Marks {
    fn default() -> Self {
        Self::Open(Vec::new())
    }
}

impl Marks {
    /// The most that are counted. What opens more has lost its way, and is no longer trusted to
    /// close what it opened.
    pub const MAX_OPEN: usize = 64;

    /// Whether the mark called `name` has begun something that may not have ended.
    #[must_use]
    pub fn is_open(&self, name: &str) -> bool {
        match self {
            Self::Unknown => true,
            Self::Open(names) => names.iter().any(|open| open == name),
        }
    }

    /// Whether anything may be open.
    #[must_use]
    pub const fn any(&self) -> bool {
        match self {
            Self::Unknown => true,
            Self::Open(names) => !names.is_empty(),
        }
    }

    /// The mark called `name` was told: it begins and ends what `policy` says.
    ///
    /// What began twice ends with its second end. An end without a beginning changes nothing.
    pub(crate) fn tell(&mut self, policy: &Policy, name: &str) {
        for Between { from_mark, to_mark } in policy.between() {
            let Self::Open(open) = self else { return };
            if to_mark == name
                && let Some(place) = open.iter().position(|open| *open == from_mark)
            {
                open.remove(place);
            }
            if from_mark == name {
                if open.len() >= Self::MAX_OPEN {
                    *self = Self::Unknown;
                } else {
                    open.push(from_mark);
                }
            }
        }
    }
}

impl Policy {
    /// Every pair of marks that means something: those of secrets, and the masks' own. A mark that
    /// begins something is in one pair only.
    pub(crate) fn between(&self) -> Vec<Between> {
        let mut pairs = vec![Between {
            from_mark: Mark::SECRET_BEGIN.to_owned(),
            to_mark: Mark::SECRET_END.to_owned(),
        }];
        for pair in self.masks.iter().filter_map(|mask| mask.between.as_ref()) {
            if !pairs.contains(pair) {
                pairs.push(pair.clone());
            }
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "[[mask]]\nname = \"v\"\nrect = \"full\"\n\
        from_mark = \"vault.open\"\nto_mark = \"vault.shut\"\n";

    fn told<'a>(names: impl IntoIterator<Item = &'a str>) -> Marks {
        let policy = Policy::parse(POLICY).unwrap();
        let mut marks = Marks::default();
        for name in names {
            marks.tell(&policy, name);
        }
        marks
    }

    #[test]
    fn what_began_twice_ends_twice() {
        let (begin, end) = (Mark::SECRET_BEGIN, Mark::SECRET_END);
        assert!(told([begin]).any());
        assert!(told([begin, begin, end]).is_open(begin));
        assert!(!told([begin, begin, end, end]).any());
        assert!(told([end, begin]).any(), "an early end is no credit");
        assert!(!told(["step", "vault.shut"]).any());
        let marks = told([begin, "vault.open", end]);
        assert!(marks.is_open("vault.open") && !marks.is_open(begin));
    }

    #[test]
    fn who_opens_too_many_closes_none() {
        let many = [Mark::SECRET_BEGIN].repeat(Marks::MAX_OPEN);
        assert!(matches!(told(many.clone()), Marks::Open(_)));
        let more = many.iter().copied().chain([Mark::SECRET_BEGIN]);
        let ends = [Mark::SECRET_END].repeat(Marks::MAX_OPEN + 1);
        assert_eq!(told(more.chain(ends)), Marks::Unknown);
    }

    #[test]
    fn what_is_open_outlives_the_recorder() {
        for marks in [Marks::Unknown, told(["vault.open"])] {
            let json = serde_json::to_string(&marks).unwrap();
            assert_eq!(serde_json::from_str::<Marks>(&json).unwrap(), marks);
        }
    }
}
