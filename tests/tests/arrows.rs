//! Does each crate know only what lies upstream of it? The arrows between the workspace's
//! packages against the table of `ARCHITECTURE.md`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;

/// Who may know whom. A new arrow is a design change: it edits `ARCHITECTURE.md` in the same
/// commit.
const MAY_KNOW: [(&str, &[&str]); 14] = [
    ("capture", &[]),
    ("segment", &["capture"]),
    ("policy", &["capture"]),
    ("encoder", &["capture", "policy", "segment"]),
    ("capture-rdp", &["capture"]),
    ("capture-screen", &["capture"]),
    ("capture-vnc", &["capture"]),
    ("store", &["capture", "segment"]),
    ("index", &["capture", "segment", "store"]),
    (
        "capture-agent",
        &[
            "capture",
            "capture-rdp",
            "capture-screen",
            "capture-vnc",
            "encoder",
            "index",
            "policy",
            "segment",
            "store",
            "telemetry",
        ],
    ),
    ("telemetry", &["capture", "index", "store"]),
    (
        "replay-server",
        &[
            "capture",
            "index",
            "policy",
            "segment",
            "store",
            "telemetry",
        ],
    ),
    (
        "pipeline-fuzz",
        &["capture", "capture-rdp", "capture-vnc", "segment"],
    ),
    (
        "pipeline-tests",
        &[
            "capture",
            "capture-agent",
            "capture-rdp",
            "capture-vnc",
            "encoder",
            "index",
            "policy",
            "replay-server",
            "segment",
            "store",
        ],
    ),
];

/// Crates that do no IO: nothing in them may bring a runtime, a socket or a file.
const PURE: [&str; 5] = ["capture", "segment", "policy", "capture-rdp", "capture-vnc"];
/// What would bring one, as a dependency of the library itself.
const IMPURE: [&str; 6] = [
    "tokio",
    "rustix",
    "axum",
    "rusqlite",
    "gstreamer",
    "ffmpeg-next",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
    path: Option<String>,
}

fn packages() -> Vec<Package> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .arg("--manifest-path")
        .arg(manifest)
        .output()
        .expect("cargo runs");
    let metadata: Metadata = serde_json::from_slice(&output.stdout).expect("cargo metadata");
    metadata.packages
}

#[test]
fn every_package_is_in_the_table() {
    let mut found: Vec<String> = packages().into_iter().map(|package| package.name).collect();
    let mut table = MAY_KNOW.map(|(name, _)| name.to_owned());
    found.sort();
    table.sort();
    assert_eq!(found, table);
}

#[test]
fn arrows_point_against_the_flow() {
    let table = BTreeMap::from(MAY_KNOW);
    for package in packages() {
        let may_know = table[package.name.as_str()];
        for known in package
            .dependencies
            .iter()
            .filter(|known| known.path.is_some())
        {
            assert!(
                may_know.contains(&known.name.as_str()),
                "{} may not know {}",
                package.name,
                known.name
            );
        }
    }
}

#[test]
fn pure_crates_bring_no_io() {
    for package in packages() {
        let normal = |known: &&Dependency| known.kind.is_none();
        for known in package.dependencies.iter().filter(normal) {
            assert!(
                !(PURE.contains(&package.name.as_str()) && IMPURE.contains(&known.name.as_str())),
                "{} is pure and may not use {}",
                package.name,
                known.name
            );
        }
    }
}
