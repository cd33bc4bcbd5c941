//! Builds the viewer's files into the binary.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> io::Result<()> {
    let variable = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_default());
    let dist = variable("CARGO_MANIFEST_DIR").join("../web-viewer/dist");
    // Watched also while it is missing, so that the first build of the viewer is picked up.
    println!("cargo::rerun-if-changed={}", dist.display());
    println!("cargo::rerun-if-changed=build.rs");
    let mut files = Vec::new();
    if dist.is_dir() {
        collect(&dist, &mut files)?;
        files.sort();
    } else {
        println!("cargo::warning=web-viewer/dist is missing: `playhead` is built without viewer");
    }

    let mut source = String::from("static FILES: &[Asset] = &[\n");
    for file in &files {
        let path = file.strip_prefix(&dist).unwrap_or(file).to_string_lossy();
        let Some(content_type) = content_type(&path) else {
            continue;
        };
        let absolute = fs::canonicalize(file)?;
        source += &format!(
            "Asset {{ path: {path:?}, content_type: {content_type:?}, \
             bytes: include_bytes!({absolute:?}), brotli: {}, gzip: {} }},\n",
            packed(&absolute, "br"),
            packed(&absolute, "gz"),
        );
    }
    source += "];\n";
    fs::write(variable("OUT_DIR").join("viewer.rs"), source)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// The media type by the file's ending; `None` for what is not served, such as source maps and
/// packed twins.
fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "webmanifest" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "woff2" => "font/woff2",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    })
}

/// The twin of `file` that the viewer's build packed, if it did.
fn packed(file: &Path, ending: &str) -> String {
    let twin = PathBuf::from(format!("{}.{ending}", file.display()));
    if twin.is_file() {
        format!("Some(include_bytes!({twin:?}))")
    } else {
        "None".to_owned()
    }
}
