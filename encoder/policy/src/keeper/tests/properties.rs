//! What holds whatever is typed.

use std::collections::BTreeMap;

use capture::event::LATE_MS;
use proptest::prelude::*;

use super::*;

/// Characters that appear in no name, number or field of an event.
const PLANTED: &str = "ЖЩЪЫжщъыλψ漢字🦀🙈ßþ";

fn planted() -> impl Strategy<Value = char> {
    prop::sample::select(PLANTED.chars().collect::<Vec<_>>())
}

#[derive(Clone, Debug)]
enum Act {
    Type(char),
    Down(u32),
    Up(u32),
    Point(i32, i32, u16),
    Copy(String),
    Mark(&'static str),
    Wait(u64),
}

fn act() -> impl Strategy<Value = Act> {
    let key = prop_oneof![
        planted().prop_map(|c| Keysym::of(c).0),
        prop::sample::select(vec![
            RETURN,
            BACK_SPACE,
            SHIFT,
            CONTROL,
            0xfe51,
            0x6000_0000
        ]),
    ];
    let marks = vec![Mark::SECRET_BEGIN, Mark::SECRET_END, "step"];
    prop_oneof![
        6 => planted().prop_map(Act::Type),
        4 => key.clone().prop_map(Act::Down),
        4 => key.prop_map(Act::Up),
        2 => (0..9, 0..9, 0u16..0x200).prop_map(|(x, y, buttons)| Act::Point(x, y, buttons)),
        1 => prop::collection::vec(planted(), 0..9)
            .prop_map(|text| Act::Copy(text.into_iter().collect())),
        1 => prop::sample::select(marks).prop_map(Act::Mark),
        2 => (0u64..3_000).prop_map(Act::Wait),
    ]
}

impl Desk {
    /// Does `act`, waking the keeper when it asks for it, and checks that nothing is told later
    /// than readers look for it.
    fn does(&mut self, act: &Act) {
        let told = self.out.len();
        match act {
            Act::Type(c) => {
                self.tap(Keysym::of(*c).0);
            }
            Act::Down(keysym) => {
                self.key(*keysym, true);
            }
            Act::Up(keysym) => {
                self.key(*keysym, false);
            }
            Act::Point(x, y, buttons) => {
                self.pointer(*x, *y, *buttons);
            }
            Act::Copy(text) => {
                self.copies(Direction::ToMachine, text);
            }
            Act::Mark(name) => {
                self.mark(name);
            }
            Act::Wait(ms) => {
                self.now_ms += ms;
                let now = MediaTime::from_ms(self.now_ms);
                while let Some(t) = self.keeper.poll_timeout().filter(|&t| t <= now) {
                    self.keeper.handle_timeout(t, &mut self.out);
                }
            }
        }
        for event in &self.out[told..] {
            assert!(event.t.ms() <= self.now_ms && self.now_ms < event.t.ms() + LATE_MS);
        }
    }
}

proptest! {
    #[test]
    fn under_classes_nothing_typed_or_copied_is_told(acts in prop::collection::vec(act(), 0..80)) {
        let mut desk = Desk::under("");
        acts.iter().for_each(|act| desk.does(act));
        let told = json!(desk.leaves()).to_string();
        prop_assert!(!told.chars().any(|c| PLANTED.contains(c)), "{}", told);
    }

    #[test]
    fn each_kind_is_in_order_and_what_goes_down_comes_up(
        acts in prop::collection::vec(act(), 0..80),
        policy in prop::sample::select(vec!["", ALL, NONE]),
    ) {
        let mut desk = Desk::under(policy);
        acts.iter().for_each(|act| desk.does(act));
        let events = desk.leaves();
        let mut last = BTreeMap::new();
        let mut down = BTreeMap::new();
        for event in &events {
            let kind = event["kind"].as_str().unwrap();
            let t = event["t"].as_u64().unwrap();
            let before = last.insert(kind, t);
            prop_assert!(before <= Some(t), "{} at {} after {:?}", kind, t, before);
            let name = event.get("name").or_else(|| event.get("button"));
            let goes_down = event["down"] == true || event["action"] == "down";
            if let Some(name) = name.filter(|_| kind != "mark" && event["repeat"] != true) {
                *down.entry(name.to_string()).or_insert(0) += if goes_down { 1 } else { -1 };
                prop_assert!(0 <= down[&name.to_string()], "{} comes up by itself", name);
            }
        }
        prop_assert!(down.values().all(|&count| count == 0), "{:?}", down);
    }

    #[test]
    fn what_is_typed_is_the_text(
        typed in prop::collection::vec((planted(), 1usize..4, any::<bool>(), any::<bool>()), 0..60),
    ) {
        let mut desk = Desk::under(ALL);
        let mut text = String::new();
        let mut overlapping = None;
        for (c, repeats, overlap, regret) in typed {
            let keysym = Keysym::of(c).0;
            if overlapping == Some(keysym) {
                desk.key(keysym, false);
                overlapping = None;
            }
            for _ in 0..repeats {
                desk.key(keysym, true);
                text.push(c);
            }
            // The key before it comes up only now.
            if let Some(before) = overlapping.take() {
                desk.key(before, false);
            }
            if overlap {
                overlapping = Some(keysym);
            } else {
                desk.key(keysym, false);
            }
            if regret {
                desk.tap(BACK_SPACE);
                text.pop();
            }
        }
        let told = texts(&desk.leaves()).concat();
        prop_assert_eq!(told, text);
    }

    #[test]
    fn nothing_depends_on_what_a_secret_was(
        before in prop::collection::vec(planted(), 0..5),
        secrets in [prop::collection::vec(planted(), 0..40), prop::collection::vec(planted(), 0..40)],
        held in planted(),
        after in "[a-z]{0,5}",
        policy in prop::sample::select(vec!["", ALL, NONE]),
    ) {
        let told = secrets.map(|secret| {
            let secret = String::from_iter(secret);
            let mut desk = Desk::under(policy);
            desk.types(&String::from_iter(&before)).key(SHIFT, true);
            desk.mark(Mark::SECRET_BEGIN).types(&secret).tap(RETURN);
            desk.copies(Direction::ToMachine, &secret).key(SHIFT, false);
            if secret.len() % 2 == 0 {
                desk.key(Keysym::of(held).0, true).key(CONTROL, true);
            }
            desk.at(9_000).mark(Mark::SECRET_END).at(9_500);
            desk.key(Keysym::of(held).0, false).key(CONTROL, false);
            desk.types(&after).at(12_000);
            json!(desk.leaves()).to_string()
        });
        prop_assert_eq!(&told[0], &told[1]);
    }
}
