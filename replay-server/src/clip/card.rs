//! What a clip shows where there is no picture: a plain card that says so, and why.

use capture::{Gap, MediaTime, Size};
use ffmpeg_next::frame::Video;

use super::painter::{PaintError, Painter, blank};

/// The longest a card's fragment shows it: a longer gap shows the fragment again.
pub(super) const MAX_MS: u64 = 60 * HEARTBEAT_MS;
/// No sample of a clip is longer, as none of a recording is.
const HEARTBEAT_MS: u64 = 1_000;

/// Luma of the card and of its words.
const PAPER: u8 = 40;
const INK: u8 = 200;

/// The fragment of a card for `gap`, at 0: as long as the gap, at most [`MAX_MS`].
pub(super) fn card(painter: &Painter, gap: Option<Gap>) -> Result<Vec<u8>, PaintError> {
    let mut picture = draw(painter.canvas(), &words(gap));
    let mut easel = painter.easel()?;
    let ms = gap
        .map_or(MAX_MS, |gap| gap.to.ms_since(gap.from))
        .clamp(1, MAX_MS);
    for _ in 0..ms.div_ceil(HEARTBEAT_MS) {
        easel.show(&mut picture, HEARTBEAT_MS)?;
    }
    easel.fragment(MediaTime::ZERO)
}

fn words(gap: Option<Gap>) -> Vec<String> {
    let mut lines = vec!["NO PICTURE".to_owned()];
    if let Some(Gap { from, to, reason }) = gap {
        lines.push(reason.as_str().replace('-', " ").to_ascii_uppercase());
        lines.push(format!("{from} - {to}"));
    }
    lines
}

/// Side of a letter's field in dots, its margin to the next included.
const FIELD: [usize; 2] = [6, 10];

/// Lines of words in the middle of a card, as large as fit well.
fn draw(size: Size, lines: &[String]) -> Video {
    let mut picture = blank(size);
    picture.data_mut(0).fill(PAPER);
    let (width, height) = (size.w as usize, size.h as usize);
    let longest = lines.iter().map(String::len).max().unwrap_or(1);
    let room = (width / (longest * FIELD[0])).min(height / (lines.len() * FIELD[1]));
    let dot = (room * 2 / 3).max(1);
    let stride = picture.stride(0);
    let luma = picture.data_mut(0);
    let top = height.saturating_sub(lines.len() * FIELD[1] * dot) / 2;
    for (n, line) in lines.iter().enumerate() {
        let left = width.saturating_sub(line.len() * FIELD[0] * dot) / 2;
        for (m, letter) in line.chars().enumerate() {
            let corner = [left + m * FIELD[0] * dot, top + n * FIELD[1] * dot];
            for [x, y] in dots(letter) {
                let [x, y] = [corner[0] + x * dot, corner[1] + y * dot];
                for row in (y..y + dot).take_while(|&row| row < height) {
                    let (from, to) = (x.min(width), (x + dot).min(width));
                    luma[row * stride + from..row * stride + to].fill(INK);
                }
            }
        }
    }
    picture
}

/// The dots of a letter, 5 wide and 7 high.
fn dots(letter: char) -> impl Iterator<Item = [usize; 2]> {
    let columns = LETTERS.iter().find(|(known, _)| *known == letter);
    let columns = columns.map_or([0; 5], |(_, columns)| *columns);
    (0..5).flat_map(move |x| {
        let inked = move |y: &usize| columns[x] >> y & 1 == 1;
        (0..7).filter(inked).map(move |y| [x, y])
    })
}

/// What cards are written with: five columns, the lowest bit on top.
const LETTERS: [(char, [u8; 5]); 39] = [
    ('A', [0x7e, 0x09, 0x09, 0x09, 0x7e]),
    ('B', [0x7f, 0x49, 0x49, 0x49, 0x36]),
    ('C', [0x3e, 0x41, 0x41, 0x41, 0x22]),
    ('D', [0x7f, 0x41, 0x41, 0x22, 0x1c]),
    ('E', [0x7f, 0x49, 0x49, 0x49, 0x41]),
    ('F', [0x7f, 0x09, 0x09, 0x09, 0x01]),
    ('G', [0x3e, 0x41, 0x49, 0x49, 0x3a]),
    ('H', [0x7f, 0x08, 0x08, 0x08, 0x7f]),
    ('I', [0x00, 0x41, 0x7f, 0x41, 0x00]),
    ('J', [0x20, 0x40, 0x40, 0x40, 0x3f]),
    ('K', [0x7f, 0x08, 0x14, 0x22, 0x41]),
    ('L', [0x7f, 0x40, 0x40, 0x40, 0x40]),
    ('M', [0x7f, 0x02, 0x0c, 0x02, 0x7f]),
    ('N', [0x7f, 0x04, 0x08, 0x10, 0x7f]),
    ('O', [0x3e, 0x41, 0x41, 0x41, 0x3e]),
    ('P', [0x7f, 0x09, 0x09, 0x09, 0x06]),
    ('Q', [0x3e, 0x41, 0x51, 0x21, 0x5e]),
    ('R', [0x7f, 0x09, 0x19, 0x29, 0x46]),
    ('S', [0x26, 0x49, 0x49, 0x49, 0x32]),
    ('T', [0x01, 0x01, 0x7f, 0x01, 0x01]),
    ('U', [0x3f, 0x40, 0x40, 0x40, 0x3f]),
    ('V', [0x1f, 0x20, 0x40, 0x20, 0x1f]),
    ('W', [0x3f, 0x40, 0x30, 0x40, 0x3f]),
    ('X', [0x63, 0x14, 0x08, 0x14, 0x63]),
    ('Y', [0x03, 0x04, 0x78, 0x04, 0x03]),
    ('Z', [0x61, 0x51, 0x49, 0x45, 0x43]),
    ('0', [0x3e, 0x51, 0x49, 0x45, 0x3e]),
    ('1', [0x00, 0x42, 0x7f, 0x40, 0x00]),
    ('2', [0x62, 0x51, 0x49, 0x49, 0x46]),
    ('3', [0x22, 0x41, 0x49, 0x49, 0x36]),
    ('4', [0x18, 0x14, 0x12, 0x7f, 0x10]),
    ('5', [0x27, 0x45, 0x45, 0x45, 0x39]),
    ('6', [0x3e, 0x49, 0x49, 0x49, 0x32]),
    ('7', [0x01, 0x71, 0x09, 0x05, 0x03]),
    ('8', [0x36, 0x49, 0x49, 0x49, 0x36]),
    ('9', [0x26, 0x49, 0x49, 0x49, 0x3e]),
    ('-', [0x08, 0x08, 0x08, 0x08, 0x08]),
    (':', [0x00, 0x36, 0x36, 0x00, 0x00]),
    ('.', [0x00, 0x60, 0x60, 0x00, 0x00]),
];

#[cfg(test)]
mod tests {
    use capture::GapReason;
    use expect_test::expect;

    use super::*;

    #[test]
    fn every_letter_of_a_card_can_be_written() {
        let gap = Gap {
            from: MediaTime::from_ms(21_500),
            to: MediaTime::from_ms(3_725_006),
            reason: GapReason::SecureDesktop,
        };
        let lines = words(Some(gap));
        assert_eq!(lines[1..], ["SECURE DESKTOP", "0:00:21.500 - 1:02:05.006"]);
        for letter in lines.iter().flat_map(|line| line.chars()) {
            assert!(letter == ' ' || dots(letter).count() > 0, "{letter:?}");
        }
    }

    #[test]
    fn words_stand_in_the_middle_of_the_card() {
        let picture = draw(Size::new(32, 10), &["N P".to_owned()]);
        let inked = |x: usize, y: usize| picture.data(0)[y * picture.stride(0) + x] == INK;
        let row = |y| {
            let row: String = (0..32)
                .map(|x| if inked(x, y) { '#' } else { '.' })
                .collect();
            format!("{row}\n")
        };
        expect![[r#"
            .......#...#.......####.........
            .......#...#.......#...#........
            .......##..#.......#...#........
            .......#.#.#.......####.........
            .......#..##.......#............
            .......#...#.......#............
            .......#...#.......#............
            ................................
            ................................
            ................................
        "#]]
        .assert_eq(&(0..10).map(row).collect::<String>());
    }
}
