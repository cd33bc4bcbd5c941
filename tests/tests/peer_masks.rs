//! Is what a policy masks anywhere in the recording? The painter's coloured bar is masked, and
//! its colours are looked for in every sample, thumbnail and still.

use anyhow::ensure;
use pipeline_tests::bar;
use pipeline_tests::picture::{self, Picture};
use pipeline_tests::playhead::{Home, Server};
use pipeline_tests::scene::Scene;

const SIZE: (u16, u16) = (640, 480);

#[test]
fn peer_masked_pixels_are_nowhere_in_the_recording() -> anyhow::Result<()> {
    let plain = record(None)?;
    for (place, pictures) in &plain {
        ensure!(
            pictures.iter().any(bar::shows),
            "the check is blind: an unmasked recording shows no bar in its {place}"
        );
    }
    for (place, pictures) in &record(Some(bar::MASK))? {
        let leaks = pictures
            .iter()
            .filter(|picture| bar::shows(picture))
            .count();
        ensure!(
            leaks == 0,
            "{leaks} of {} {place} show the bar",
            pictures.len()
        );
    }
    Ok(())
}

/// All pictures of a recording of some seconds, by where they were found.
fn record(policy: Option<&str>) -> anyhow::Result<Vec<(&'static str, Vec<Picture>)>> {
    let folder = Home::new()?;
    let file = folder.path().join("policy.toml");
    let path = file.to_string_lossy();
    let mut options = vec![];
    if let Some(policy) = policy {
        std::fs::write(&file, policy)?;
        options = vec!["--policy", &*path];
    }
    let scene = Scene::start(SIZE, &options)?;
    scene.work(4_000)?;
    let (home, _) = scene.close()?;

    let mut samples = Vec::new();
    for segment in home.objects(".mp4")? {
        samples.extend(picture::frames(&segment, SIZE.0.into(), SIZE.1.into())?);
    }
    let sheets = home.objects(".jpg")?;
    let thumbs = sheets
        .iter()
        .map(|sheet| Picture::decode(&std::fs::read(sheet)?));
    let server = Server::start(&home)?;
    let session = server.only_session()?;
    let end = session.head()?["duration_ms"].as_u64().unwrap_or_default();
    let stills = (0..end)
        .step_by(500)
        .map(|t| Picture::of(&session.get(&format!("/frame?format=webp&t={t}"))?));
    Ok(vec![
        ("samples", samples),
        ("thumbnails", thumbs.collect::<Result<_, _>>()?),
        ("stills", stills.collect::<Result<_, _>>()?),
    ])
}
