//! What is a source like? It is opened, once or twice, up to its first picture.

use capture::{Size, source::SourceEvent};

use super::{connection::Connection, lost::Lost};
use crate::{
    access::Access,
    clock::BootTime,
    source::Source,
    wire::{Driven, Report},
};

/// Connects to `source`, waits for its first picture and tells what it is.
pub(crate) async fn try_source(source: &Source, access: &Access) -> anyhow::Result<String> {
    match look(source, access).await {
        Ok((_, size)) => Ok(format!("{source} shows {size}")),
        Err(lost) => Err(anyhow::anyhow!(lost.detail)),
    }
}

/// Finds out whether `source` keeps two connections at once.
pub(super) async fn probe(source: &Source, access: &Access) -> Report {
    let (mut first, _) = match look(source, access).await {
        Ok(looked) => looked,
        Err(lost) => {
            let refusal = lost.refusal();
            let detail = lost.detail;
            return Report::Refused { refusal, detail };
        }
    };
    let driven = match look(source, access).await {
        Ok(_second) if still_answers(&mut first).await.is_ok() => Driven::Shared,
        Ok(_) | Err(_) => Driven::Single,
    };
    Report::Probed { driven }
}

/// Connects and waits for the first picture. Gives its size, too.
async fn look(source: &Source, access: &Access) -> Result<(Connection, Size), Lost> {
    let mut connection = Connection::open(source, access, None).await?;
    loop {
        connection.send().await?;
        connection.receive_or_timeout().await?;
        while let Some(event) = connection.session.poll_event() {
            if let SourceEvent::Update { .. } = event {
                let size = connection.framebuffer.size();
                return Ok((connection, size));
            }
        }
    }
}

/// Has a source whose picture was seen prove it again.
async fn still_answers(connection: &mut Connection) -> Result<(), Lost> {
    let seen = connection.session.last_proof();
    connection.session.request_proof(BootTime::now());
    while connection.session.last_proof() == seen {
        connection.send().await?;
        connection.receive_or_timeout().await?;
        if connection.session.is_stalled(BootTime::now()) {
            return Err(Lost::silent());
        }
    }
    Ok(())
}
