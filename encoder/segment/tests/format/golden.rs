//! What exactly is written: a change here is a change of the format.

use expect_test::{Expect, expect};
use segment::{Assembled, Record, Sha256, mp4};

use crate::recording::{assembled, close, example, ms, open, sample, segment, wal};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn records_have_these_bytes() {
    let check = |record: Record, bytes: Expect| bytes.assert_eq(&hex(&wal(&[record])));
    check(
        Record::Tick(ms(258)),
        expect!["000000080531a4fc090000000000000102"],
    );
    check(
        sample(258, true, 1000, b"\0\0\0\x01\x65"),
        expect!["000000105d5593150300000000000001020103e80000000165"],
    );
    check(
        close(258),
        expect!["00000017156b0e280c7b22746f223a3235382c226c617374223a66616c73657d"],
    );
}

/// The file's boxes, one a line: where each begins, its type and its length.
fn outline(bytes: &[u8], offset: usize, depth: usize, out: &mut String) {
    let mut at = 0;
    while at < bytes.len() {
        let len = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        let kind = &bytes[at + 4..at + 8];
        let name = kind.escape_ascii();
        *out += &format!("{:<5}{}{name} {len}\n", offset + at, "  ".repeat(depth));
        let fields = match kind {
            b"moov" | b"trak" | b"mdia" | b"minf" | b"dinf" | b"stbl" | b"mvex" | b"moof"
            | b"traf" => Some(8),
            b"stsd" | b"dref" => Some(16),
            b"avc1" => Some(86),
            _ => None,
        };
        if let Some(fields) = fields {
            outline(
                &bytes[at + fields..at + len],
                offset + at + fields,
                depth + 1,
                out,
            );
        }
        at += len;
    }
}

#[test]
fn a_segment_has_these_boxes() {
    let (file, manifest) = segment(&example());
    let mut boxes = String::new();
    let before_events = usize::try_from(manifest.events.offset).unwrap();
    outline(&file[..before_events], 0, 0, &mut boxes);
    expect![[r#"
        0    ftyp 32
        32   moov 661
        40     mvhd 120
        160    mvex 40
        168      trex 32
        200    trak 493
        208      tkhd 104
        312      mdia 381
        320        mdhd 44
        364        hdlr 39
        403        minf 290
        411          dinf 36
        419            dref 28
        435              url  12
        447          stbl 226
        455            stsd 150
        471              avc1 134
        557                avcC 29
        586                colr 19
        605            stts 16
        621            stsc 16
        637            stsz 20
        657            stco 16
        673          vmhd 20
        693  moof 112
        701    mfhd 16
        717    traf 88
        725      tfhd 20
        745      tfdt 20
        765      trun 40
        805  mdat 21
        826  moof 104
        834    mfhd 16
        850    traf 80
        858      tfhd 20
        878      tfdt 20
        898      trun 32
        930  mdat 14
    "#]]
    .assert_eq(&boxes);
}

/// The value as JSON with each of its own fields on a line.
fn lines(value: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(value).unwrap();
    let mut depth = 0;
    json.chars().fold(String::new(), |mut lines, c| {
        lines.push(c);
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            ',' if depth == 1 => lines.push('\n'),
            _ => {}
        }
        lines
    })
}

#[test]
fn a_manifest_has_these_fields() {
    let (file, mut manifest) = segment(&example());
    assert_eq!(mp4::check(&file).unwrap(), manifest);
    // How well the events are packed is the compressor's business.
    manifest.events.len = 0;
    manifest.events.sha256 = Sha256::of(b"");
    expect![[r#"
        {"format":1,
        "session":"01a3185c-5000-7707-8707-070707070707",
        "seq":3,
        "run":1,
        "from":60000,
        "to":64000,
        "prev":"d5d6a21d9bb9508962ea42082380549ebe8a7972d6a1f2ba1943803779b71861",
        "repeats":[{"seq":2,"fragment":1,"from":60000,"to":61000}],
        "gaps":[{"from":61000,"to":62000,"reason":"disconnected"}],
        "anchors":[{"t":60000,"utc":"2027-01-15T08:01:00.000Z","error_ms":2,"step":false}],
        "masks":[{"rect":[8,8,16,4],"from":62000,"to":62300,"rule":"clock","kind":"fixed"}],
        "activity":[[62,1000],[63,1000]],
        "init":{"offset":0,"len":693,"codec":"avc1.64000a","width":64,"height":48},
        "fragments":[{"t":62000,"dur":1000,"offset":693,"len":133,"changed":2,"samples":[[0,6],[250,7]]},{"t":63000,"dur":1000,"offset":826,"len":118,"changed":1,"samples":[[0,6]]}],
        "events":{"offset":944,"len":0,"count":1,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        "thumbs":{"sha256":"21ac2586e213d1f490778a07bf0025a98fc57595863a282372bac594b398322b","bytes":17,"tile":[320,180],"columns":5,"times":[62000,63000]},
        "hold_back_ms":0}"#]].assert_eq(&lines(&manifest));
}

#[test]
fn an_idle_record_has_these_fields() {
    let begin: Vec<_> = example().into_iter().take(3).collect();
    let records = [begin, vec![close(660_000)]].concat();
    let Assembled::Idle { bytes, record } = assembled(&wal(&records)) else {
        panic!("no idle record");
    };
    assert_eq!(segment::idle::read(&bytes).unwrap(), record);
    expect![[r#"
        {"format":1,
        "session":"01a3185c-5000-7707-8707-070707070707",
        "seq":3,
        "run":1,
        "from":60000,
        "to":660000,
        "prev":"d5d6a21d9bb9508962ea42082380549ebe8a7972d6a1f2ba1943803779b71861",
        "repeats":[{"seq":2,"fragment":1,"from":60000,"to":660000}],
        "anchors":[{"t":60000,"utc":"2027-01-15T08:01:00.000Z","error_ms":2,"step":false}]}"#]]
    .assert_eq(&lines(&record));
}

#[test]
fn init_parts_depend_on_the_parameters_alone() {
    let early = segment(&example());
    let late = [
        open(9_000_000),
        crate::recording::small_init(),
        sample(9_000_000, true, 1000, b"\0\0\0\x01\x65"),
    ];
    let late = segment(&late);
    let init = |(file, manifest): &(Vec<u8>, segment::Manifest)| {
        mp4::part(file, manifest.init.byte_range())
            .unwrap()
            .to_vec()
    };
    assert_eq!(init(&early), init(&late));
}
