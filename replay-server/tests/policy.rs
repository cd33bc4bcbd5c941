//! Does `playhead policy check` say what a policy does, and where it is wrong?
#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on says so by panicking"
)]

use std::process::Command;

/// Checks `policy`, expects the exit code, and gives what was printed.
fn check(policy: impl AsRef<[u8]>, code: i32) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.toml");
    std::fs::write(&file, policy).unwrap();
    run(file.to_str().unwrap(), code)
}

fn run(file: &str, code: i32) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_playhead"));
    let output = command.args(["policy", "check", file]).output().unwrap();
    let (out, error) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(output.status.code(), Some(code), "{out}{error}");
    assert!(code == 0 || out.is_empty(), "{out}");
    out + &error
}

#[test]
fn a_policy_is_told_in_words() {
    let told = check(
        "[[mask]]\nname = \"clock\"\nrect = [1600, \"83.5%\", \"17%\", 40]\n\
        [[mask]]\nname = \"vault\"\nrect = \"full\"\n\
        from_mark = \"vault.open\"\nto_mark = \"vault.shut\"\n\
        [input]\nkeys = \"all\"\nclipboard = \"none\"\n",
        0,
    );
    let lines: Vec<&str> = told.lines().skip(1).collect();
    assert_eq!(
        lines,
        [
            "mask       clock: 17% wide and 40 px high at 1600 px, 83.5%, always",
            "mask       vault: the whole screen, from mark vault.open to vault.shut; \
             no key and no clipboard is kept meanwhile",
            "keys       every key is kept, and the text they type",
            "clipboard  nothing is kept",
            "secrets    from mark secret.begin to secret.end no key and no clipboard is kept",
        ]
    );
}

#[test]
fn the_defaults_are_told_too() {
    let told = check("", 0);
    assert!(told.contains("policy     e3b0c44298fc1c149afb"), "{told}");
    assert!(told.contains("printable keys as •"), "{told}");
    assert!(told.contains("a keyed hash"), "{told}");
}

#[test]
fn the_sample_policy_is_one() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/../samples/policy.toml");
    assert!(run(sample, 0).contains("account-number"));
}

#[test]
fn what_is_wrong_is_told_with_file_and_line() {
    let said = check("[[mask]]\nname = \"m\"\nrect = \"half\"\n", 1);
    assert!(said.contains("policy.toml: line 3: mask \"m\""), "{said}");
    let rows = "[[mask]]\nname = \"m\"\nrect = \"full\"\nfrom_row = \"login\"\nto_row = \"x\"\n";
    let said = check(rows, 1);
    assert!(
        said.contains("line 4: ") && said.contains("reach only the server"),
        "{said}"
    );
    assert!(check(b"\xff", 1).contains("not UTF-8"));
    assert!(check("#".repeat(1 << 20), 1).contains("at most 65536"));
    assert!(run("/nowhere/policy.toml", 2).contains("cannot read"));
}
