//! A driver at its keyboard, and what is recorded of it.

mod properties;

use capture::{
    Point,
    input::{Buttons, Clipboard, Direction, Format, Key, Keysym, Pointer},
};
use serde_json::{Value, json};

use super::*;

const SESSION_KEY: [u8; 32] = [7; 32];
const ALL: &str = "[input]\nkeys = \"all\"\nclipboard = \"text\"\n";
const NONE: &str = "[input]\nkeys = \"none\"\nclipboard = \"none\"\n";

const RETURN: u32 = 0xff0d;
const BACK_SPACE: u32 = 0xff08;
const SHIFT: u32 = 0xffe1;
const CONTROL: u32 = 0xffe3;

/// What someone does, and all that was recorded of it so far.
struct Desk {
    keeper: Keeper,
    now_ms: u64,
    out: Vec<Event>,
}

impl Desk {
    fn under(policy: &str) -> Self {
        let policy = Policy::parse(policy).unwrap();
        Self {
            keeper: Keeper::new(&policy, SESSION_KEY, Marks::default()),
            now_ms: 0,
            out: Vec::new(),
        }
    }

    fn at(&mut self, ms: u64) -> &mut Self {
        self.now_ms = ms;
        self
    }

    fn input(&mut self, input: Input) -> &mut Self {
        let t = MediaTime::from_ms(self.now_ms);
        self.keeper.input(t, Origin::Wire, &input, &mut self.out);
        self.now_ms += 10;
        self
    }

    fn key(&mut self, keysym: u32, down: bool) -> &mut Self {
        let (keysym, scan_code) = (Keysym(keysym), None);
        self.input(Input::Key(Key {
            keysym,
            down,
            scan_code,
        }))
    }

    fn tap(&mut self, keysym: u32) -> &mut Self {
        self.key(keysym, true).key(keysym, false)
    }

    fn types(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.tap(Keysym::of(c).0);
        }
        self
    }

    fn pointer(&mut self, x: i32, y: i32, buttons: u16) -> &mut Self {
        let (at, buttons) = (Point { x, y }, Buttons(buttons));
        self.input(Input::Pointer(Pointer { at, buttons }))
    }

    fn copies(&mut self, direction: Direction, text: &str) -> &mut Self {
        self.input(Input::Clipboard(Clipboard {
            direction,
            formats: vec![Format::Text],
            text: Some(text.to_owned()),
            len_bytes: text.len() as u64,
        }))
    }

    fn mark(&mut self, name: &str) -> &mut Self {
        let t = MediaTime::from_ms(self.now_ms);
        let mark = Mark::new(name.to_owned(), None).unwrap();
        self.keeper.mark(t, Origin::Driver, &mark, &mut self.out);
        self.now_ms += 10;
        self
    }

    /// The driver leaves: all there is to know of it.
    fn leaves(&mut self) -> Vec<Value> {
        let t = MediaTime::from_ms(self.now_ms);
        self.keeper.close(t, Origin::Wire, &mut self.out);
        assert_eq!(self.keeper.poll_timeout(), None);
        let out = std::mem::take(&mut self.out);
        out.iter()
            .map(|it| serde_json::to_value(it).unwrap())
            .collect()
    }
}

/// The recorded events of `kind`, without what they have in common.
fn of_kind(events: &[Value], kind: &str) -> Vec<Value> {
    let chosen = events.iter().filter(|event| event["kind"] == kind);
    let bare = chosen.map(|event| {
        let mut event = event.clone();
        let fields = event.as_object_mut().unwrap();
        fields.retain(|name, _| name != "kind" && name != "origin");
        event
    });
    bare.collect()
}

fn texts(events: &[Value]) -> Vec<&str> {
    let runs = events.iter().filter(|event| event["kind"] == "text_run");
    runs.filter_map(|event| event["text"].as_str()).collect()
}

/// `name+` for a key that goes down, `name-` for one that comes up.
fn keys(events: &[Value]) -> Vec<String> {
    let keys = events.iter().filter(|event| event["kind"] == "key");
    keys.map(|key| {
        let way = if key["down"] == true { "+" } else { "-" };
        format!("{}{way}", key["name"].as_str().unwrap())
    })
    .collect()
}

#[test]
fn typed_text_is_one_event_with_its_first_and_last_key() {
    let events = Desk::under(ALL).at(500).types("ok").tap(RETURN).leaves();
    assert_eq!(
        of_kind(&events, "text_run"),
        [json!({"t": 500, "text": "ok", "keys": 2, "to": 520})]
    );
    assert_eq!(
        of_kind(&events, "key")[..2],
        [
            json!({"t": 500, "name": "o", "down": true}),
            json!({"t": 510, "name": "o", "down": false}),
        ]
    );
    assert_eq!(events[0]["origin"], "wire");
}

#[test]
fn a_text_ends_at_a_control_key_a_click_a_mark_a_clipboard_or_a_pause() {
    let check = |act: fn(&mut Desk)| {
        let mut desk = Desk::under(ALL);
        act(desk.types("a"));
        assert_eq!(texts(&desk.types("b").leaves()), ["a", "b"]);
    };
    check(|desk| {
        desk.tap(RETURN);
    });
    check(|desk| {
        desk.pointer(1, 1, 1);
    });
    check(|desk| {
        desk.mark("step.2");
    });
    check(|desk| {
        desk.copies(Direction::ToMachine, "x");
    });
    check(|desk| {
        desk.at(1_100);
    });
    check(|desk| {
        desk.key(CONTROL, true).tap(0x63).key(CONTROL, false);
    });
    // What neither types nor edits has no part in it.
    let events = Desk::under(ALL)
        .types("a")
        .pointer(5, 5, 0)
        .pointer(5, 5, 0x10)
        .tap(0xfe51)
        .types("b")
        .leaves();
    assert_eq!(texts(&events), ["ab"]);
}

#[test]
fn a_long_text_comes_in_parts_that_are_never_late() {
    let mut desk = Desk::under(ALL);
    for n in 0..30 {
        desk.at(n * 900).types("x");
    }
    let events = desk.leaves();
    assert_eq!(
        texts(&events),
        ["x".repeat(12), "x".repeat(12), "x".repeat(6)]
    );
    let mut desk = Desk::under(ALL);
    for _ in 0..1100 {
        desk.at(5).types("y");
    }
    assert_eq!(texts(&desk.leaves()), ["y".repeat(1024), "y".repeat(76)]);
}

#[test]
fn what_is_taken_back_is_not_in_the_text() {
    let typed = |act: fn(&mut Desk)| {
        let mut desk = Desk::under(ALL);
        act(&mut desk);
        texts(&desk.leaves()).join("|")
    };
    assert_eq!(
        typed(|desk| {
            desk.types("hellp").tap(BACK_SPACE).types("o");
        }),
        "hello"
    );
    assert_eq!(
        typed(|desk| {
            desk.types("a").tap(BACK_SPACE);
        }),
        ""
    );
    let past_the_start = |desk: &mut Desk| {
        desk.types("a").tap(BACK_SPACE).tap(BACK_SPACE).types("b");
    };
    assert_eq!(typed(past_the_start), "b");
}

/// Typed fast, a key goes down before the one before it has come up; the text is in the order in
/// which they went down.
#[test]
fn overlapping_and_repeated_keys_type_in_order() {
    let mut desk = Desk::under(ALL);
    desk.key(0x61, true).key(0x62, true).key(0x61, false);
    desk.key(0x62, true).key(0x62, true).key(0x62, false);
    let events = desk.leaves();
    assert_eq!(texts(&events), ["abbb"]);
    assert_eq!(keys(&events), ["a+", "b+", "a-", "b+", "b+", "b-"]);
    let repeats: Vec<bool> = of_kind(&events, "key")
        .iter()
        .map(|key| key["repeat"] == true)
        .collect();
    assert_eq!(repeats, [false, false, false, true, true, false]);
}

#[test]
fn modifiers_are_named_and_come_up_when_the_driver_is_gone() {
    let mut desk = Desk::under(ALL);
    desk.key(CONTROL, true).key(SHIFT, true).tap(0x63);
    let events = desk.leaves();
    let told = of_kind(&events, "key");
    assert_eq!(
        told[2],
        json!({"t": 20, "name": "c", "down": true, "mods": ["Control", "Shift"]})
    );
    assert_eq!(keys(&events)[3..], ["c-", "Control_L-", "Shift_L-"]);
    assert_eq!(texts(&events).len(), 0, "a shortcut types nothing");
}

#[test]
fn a_shifted_letter_comes_up_by_its_other_name() {
    let mut desk = Desk::under(ALL);
    desk.key(SHIFT, true).key(0x41, true);
    desk.key(SHIFT, false).key(0x61, false);
    assert_eq!(keys(&desk.leaves()), ["Shift_L+", "A+", "Shift_L-", "A-"]);
}

#[test]
fn classes_name_control_keys_only() {
    let mut desk = Desk::under("");
    desk.types("hé")
        .tap(0xfe51)
        .tap(0xfff1)
        .tap(0xffb7)
        .tap(RETURN);
    desk.key(CONTROL, true).tap(0x76);
    let events = desk.leaves();
    assert_eq!(texts(&events), ["•••"]);
    let down: Vec<String> = keys(&events)
        .into_iter()
        .filter(|key| key.ends_with('+'))
        .collect();
    let expected = ["•+", "•+", "•+", "•+", "•+", "Return+", "Control_L+", "•+"];
    assert_eq!(down, expected);
}

#[test]
fn a_policy_without_keys_keeps_the_pointer_alone() {
    let mut desk = Desk::under(NONE);
    desk.types("abc")
        .tap(RETURN)
        .copies(Direction::ToMachine, "x");
    desk.pointer(3, 4, 1);
    let events = desk.leaves();
    assert_eq!(events.len(), 2, "{events:?}");
    assert!(events.iter().all(|event| event["kind"] == "pointer"));
}

#[test]
fn nothing_of_a_secret_is_told_but_that_there_is_one() {
    let mut desk = Desk::under(ALL);
    desk.types("a").key(SHIFT, true).mark(Mark::SECRET_BEGIN);
    desk.types("hunter2").key(0x78, true);
    desk.copies(Direction::ToMachine, "hunter2");
    desk.key(SHIFT, false).pointer(9, 9, 1);
    assert!(desk.keeper.suppressed());
    desk.mark(Mark::SECRET_END);
    // The key that was held goes on repeating, and comes up.
    desk.key(0x78, true).key(0x78, false).types("b");
    let events = desk.leaves();
    assert_eq!(texts(&events), ["a", "b"]);
    assert_eq!(
        keys(&events),
        ["a+", "a-", "Shift_L+", "Shift_L-", "b+", "b-"]
    );
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| event["kind"].as_str())
        .filter(|kind| *kind != "key")
        .collect();
    assert_eq!(
        kinds,
        ["text_run", "mark", "pointer", "mark", "text_run", "pointer"]
    );
}

#[test]
fn a_masks_own_mark_suppresses_keys_too() {
    let policy = format!(
        "{ALL}[[mask]]\nname = \"v\"\nrect = [0, 0, 9, 9]\n\
        from_mark = \"vault.open\"\nto_mark = \"vault.shut\"\n"
    );
    let mut desk = Desk::under(&policy);
    desk.mark("vault.open")
        .types("x")
        .mark("vault.shut")
        .types("y");
    assert_eq!(texts(&desk.leaves()), ["y"]);
}

#[test]
fn a_driver_that_leaves_inside_a_secret_leaves_it_suppressed() {
    let mut desk = Desk::under(ALL);
    desk.mark(Mark::SECRET_BEGIN).types("x");
    desk.leaves();
    assert_eq!(desk.types("y").leaves().len(), 0);
    desk.mark(Mark::SECRET_END);
    assert_eq!(texts(&desk.types("z").leaves()), ["z"]);
}

#[test]
fn a_recorder_that_does_not_know_its_marks_tells_no_key() {
    let mut desk = Desk::under(ALL);
    desk.keeper = Keeper::new(&Policy::parse(ALL).unwrap(), SESSION_KEY, Marks::Unknown);
    desk.mark(Mark::SECRET_END).types("x");
    assert_eq!(of_kind(&desk.leaves(), "key").len(), 0);
}

#[test]
fn a_path_ends_before_a_click_and_after_a_second() {
    let mut desk = Desk::under("");
    desk.pointer(1, 1, 0).pointer(1, 1, 0).pointer(4, 2, 0);
    desk.pointer(4, 2, 1).pointer(6, 2, 1).pointer(6, 2, 0);
    desk.at(2_000).pointer(7, 7, 0).at(2_900).pointer(8, 8, 0);
    desk.at(3_000).pointer(9, 9, 0);
    let path = |t: u64, path: Value| json!({"t": t, "action": "path", "path": path});
    let click = |t: u64, action: &str, at: [i32; 2]| json!({"t": t, "action": action, "button": "left", "at": at});
    assert_eq!(
        of_kind(&desk.leaves(), "pointer"),
        [
            path(0, json!([[0, 1, 1], [20, 4, 2]])),
            click(30, "down", [4, 2]),
            path(40, json!([[0, 6, 2]])),
            click(50, "up", [6, 2]),
            path(2_000, json!([[0, 7, 7], [900, 8, 8]])),
            path(3_000, json!([[0, 9, 9]])),
        ]
    );
}

#[test]
fn a_path_is_bounded_and_a_button_comes_up_when_the_driver_is_gone() {
    let mut desk = Desk::under("");
    desk.pointer(0, 0, 0b100);
    for x in 1..=300 {
        desk.at(10).pointer(x, 0, 0b100);
    }
    let events = of_kind(&desk.leaves(), "pointer");
    assert_eq!(events[1]["path"].as_array().unwrap().len(), 256);
    assert_eq!(events[2]["path"].as_array().unwrap().len(), 44);
    assert_eq!(
        events[3],
        json!({"t": 20, "action": "up", "button": "right", "at": [300, 0]})
    );
}

#[test]
fn steps_of_a_wheel_are_one_turn() {
    let mut desk = Desk::under("");
    desk.pointer(5, 5, 0);
    for _ in 0..3 {
        desk.pointer(5, 5, 1 << 3).pointer(5, 5, 0);
    }
    desk.at(500).pointer(5, 5, 1 << 6).pointer(5, 5, 0);
    assert_eq!(
        of_kind(&desk.leaves(), "wheel"),
        [
            json!({"t": 10, "at": [5, 5], "dx": 0, "dy": -3}),
            json!({"t": 500, "at": [5, 5], "dx": 1, "dy": 0}),
        ]
    );
}

#[test]
fn a_clipboard_is_hashed_under_the_sessions_key() {
    let mut desk = Desk::under("");
    desk.copies(Direction::ToMachine, "pa55")
        .copies(Direction::FromMachine, "pa55");
    let told = of_kind(&desk.leaves(), "clipboard");
    // RFC 2104 by another implementation: `openssl dgst -sha256 -mac HMAC -macopt hexkey:0707…`.
    let hmac = "951f1f6cbabf20bfc8616bf2bd3a05e3eb662943719561c8c5732274be75bffc";
    assert_eq!(
        told[0],
        json!({"t": 0, "direction": "to-machine", "types": ["text"], "bytes": 64, "hmac": hmac})
    );
    assert_eq!(told[1]["direction"], "from-machine");
    assert_eq!(told[1]["hmac"], hmac);
}

#[test]
fn a_policy_may_keep_clipboard_text() {
    let mut desk = Desk::under(ALL);
    desk.copies(Direction::ToMachine, "")
        .copies(Direction::ToMachine, "на 🦀");
    desk.copies(Direction::ToMachine, &"x".repeat(2 << 20));
    desk.input(Input::Clipboard(Clipboard {
        direction: Direction::FromMachine,
        formats: vec![Format::Files, Format::Image, Format::Files],
        text: None,
        len_bytes: 1000,
    }));
    let told = of_kind(&desk.leaves(), "clipboard");
    assert_eq!(told[0]["bytes"], 0);
    assert_eq!(
        (&told[1]["text"], &told[1]["bytes"]),
        (&json!("на 🦀"), &json!(9))
    );
    assert_eq!(
        (&told[2]["text"], &told[2]["bytes"]),
        (&Value::Null, &json!(2 << 20))
    );
    assert_eq!(told[2]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(
        told[3],
        json!({"t": 30, "direction": "from-machine", "types": ["image", "files"], "bytes": 1000})
    );
}

#[test]
fn each_origin_has_its_own_hands() {
    let mut desk = Desk::under(ALL);
    desk.types("a");
    let t = MediaTime::from_ms(desk.now_ms);
    for down in [true, false] {
        let (keysym, scan_code) = (Keysym(0x61), None);
        let key = Input::Key(Key {
            keysym,
            down,
            scan_code,
        });
        desk.keeper.input(t, Origin::Guest, &key, &mut desk.out);
    }
    desk.types("b");
    let t = MediaTime::from_ms(desk.now_ms);
    desk.keeper.close(t, Origin::Guest, &mut desk.out);
    assert_eq!(texts(&desk.leaves()), ["a", "ab"]);
}

#[test]
fn what_lasts_ends_by_itself() {
    let mut desk = Desk::under(ALL);
    desk.types("a").pointer(1, 1, 0).pointer(1, 1, 1 << 3);
    while let Some(t) = desk.keeper.poll_timeout() {
        desk.keeper.handle_timeout(t, &mut desk.out);
    }
    let told: Vec<&str> = desk.out.iter().map(|event| &*event.kind).collect();
    assert_eq!(told, ["key", "key", "wheel", "text_run", "pointer"]);
}

#[test]
fn nothing_typed_shows_in_debug() {
    let mut desk = Desk::under(ALL);
    desk.types("hunter2");
    let shown = format!("{:?} {:?}", desk.keeper, desk.out);
    assert!(
        !shown.contains("hunter") && !shown.contains("\"h\""),
        "{shown}"
    );
}
