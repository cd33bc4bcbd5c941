//! `playhead events import`: takes in rows from a file or from standard input.

use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use capture::SessionId;
use clap::Subcommand;
use index::{import::ImportReport, row::MAX_ROW_BYTES};

use super::{FAILED, Outcome, claim, say};
use crate::archive::Archive;

/// Lines are taken in pieces of about this size, as many as one request may bring.
const PIECE_BYTES: usize = 8 << 20;

#[derive(Subcommand, Debug)]
pub(super) enum Events {
    /// Take in rows, one JSON object a line
    Import {
        /// The file; - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The session of rows that name none
        #[arg(long, value_name = "SESSION")]
        session: Option<SessionId>,
    },
}

impl Events {
    pub(super) async fn run(self, archive: &Archive) -> Outcome {
        let Self::Import { file, session } = self;
        claim(archive).await?;
        let input: Box<dyn Read> = if file == Path::new("-") {
            Box::new(std::io::stdin())
        } else {
            let opened = File::open(&file);
            Box::new(opened.with_context(|| format!("cannot read {}", file.display()))?)
        };
        let mut pieces = Pieces {
            input: BufReader::new(input),
            line: 1,
        };
        let mut total = ImportReport::default();
        while let Some((first_line, rows)) = pieces.next()? {
            let report = archive.import(&rows, first_line, session).await?;
            for refusal in &report.refused {
                say(match refusal.field.as_str() {
                    "" => format!("line {}: {}", refusal.line, refusal.message),
                    field => format!("line {}: {field}: {}", refusal.line, refusal.message),
                });
            }
            total.accepted += report.accepted;
            total.duplicate += report.duplicate;
            total.refused_more += report.refused_more + report.refused.len() as u64;
        }
        say(format_args!(
            "{} accepted, {} known already, {} refused",
            total.accepted, total.duplicate, total.refused_more
        ));
        Ok(match total.refused_more {
            0 => ExitCode::SUCCESS,
            _ => ExitCode::from(FAILED),
        })
    }
}

/// Whole lines, in pieces of bounded size.
struct Pieces<R> {
    input: BufReader<R>,
    /// The number of the next line, from 1.
    line: u64,
}

impl<R: Read> Pieces<R> {
    /// The next piece and the number of its first line; `None` at the end.
    fn next(&mut self) -> std::io::Result<Option<(u64, Vec<u8>)>> {
        let (first_line, mut piece) = (self.line, Vec::new());
        while piece.len() < PIECE_BYTES && self.line(&mut piece)? {
            self.line += 1;
        }
        Ok((!piece.is_empty()).then_some((first_line, piece)))
    }

    /// Appends one line. What a line has beyond the most that a row may have is left out: the
    /// row is refused for its length all the same.
    fn line(&mut self, piece: &mut Vec<u8>) -> std::io::Result<bool> {
        let start = piece.len();
        loop {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                return Ok(start < piece.len());
            }
            let end = available.iter().position(|&b| b == b'\n');
            let part = end.map_or(available.len(), |end| end + 1);
            let room = (MAX_ROW_BYTES + 1).saturating_sub(piece.len() - start);
            piece.extend_from_slice(&available[..part.min(room)]);
            self.input.consume(part);
            if end.is_some() {
                if piece.last() != Some(&b'\n') {
                    piece.push(b'\n');
                }
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_whole_lines_and_know_their_numbers() {
        let line = format!("{}\n", "x".repeat(60_000));
        let input = line.repeat(200);
        let mut pieces = Pieces {
            input: BufReader::new(input.as_bytes()),
            line: 1,
        };
        let (mut lines, mut bytes) = (1, 0);
        while let Some((first_line, piece)) = pieces.next().unwrap() {
            assert_eq!(first_line, lines);
            assert!(piece.ends_with(b"\n") && piece.len() < PIECE_BYTES + line.len());
            lines += piece.iter().filter(|&&b| b == b'\n').count() as u64;
            bytes += piece.len();
        }
        assert_eq!((lines, bytes), (201, input.len()));
    }

    #[test]
    fn a_line_without_end_takes_no_more_memory_than_a_row() {
        let input = "y".repeat(MAX_ROW_BYTES * 40) + "\n{}";
        let mut pieces = Pieces {
            input: BufReader::new(input.as_bytes()),
            line: 1,
        };
        let (_, piece) = pieces.next().unwrap().unwrap();
        assert_eq!(piece.len(), MAX_ROW_BYTES + 2 + 2);
        assert!(piece.ends_with(b"y\n{}"));
    }
}
