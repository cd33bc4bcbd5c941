//! What do real servers not do here on demand? A scripted VNC server of one small grey screen: it
//! may take one client only, and rings its bell for every key.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::ensure;

/// The screen's sides in px.
pub const SIDE_PX: u16 = 64;

/// A running scripted server. It serves until the test's process ends.
#[derive(Clone, Debug)]
pub struct ScriptedServer {
    /// Where it listens.
    pub address: SocketAddr,
    keys: Arc<Mutex<Vec<u32>>>,
}

impl ScriptedServer {
    /// Starts one; with `single`, a client that comes while another is served is turned away.
    ///
    /// # Errors
    /// When no port is free.
    pub fn start(single: bool) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let server = Self {
            address: listener.local_addr()?,
            keys: Arc::default(),
        };
        let keys = Arc::clone(&server.keys);
        std::thread::spawn(move || {
            let serving = Arc::new(());
            for client in listener.incoming().flatten() {
                if single && Arc::strong_count(&serving) > 1 {
                    continue; // dropped, as servers of one client do
                }
                let (keys, serving) = (Arc::clone(&keys), Arc::clone(&serving));
                std::thread::spawn(move || {
                    let _serving = serving;
                    let _ = serve(client, &keys); // a client that is gone is no failure
                });
            }
        });
        Ok(server)
    }

    /// What a recorder is given.
    #[must_use]
    pub fn url(&self) -> String {
        format!("vnc://{}", self.address)
    }

    /// The keys that were pressed so far, as keysyms.
    #[must_use]
    pub fn keys(&self) -> Vec<u32> {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.clone()
    }
}

fn serve(mut client: TcpStream, keys: &Mutex<Vec<u32>>) -> anyhow::Result<()> {
    client.set_nodelay(true)?;
    client.write_all(b"RFB 003.008\n")?;
    let _version: [u8; 12] = take(&mut client)?;
    client.write_all(&[1, 1])?;
    let [chosen] = take(&mut client)?;
    ensure!(chosen == 1, "a type that was not offered");
    client.write_all(&[0; 4])?;
    let _shared: [u8; 1] = take(&mut client)?;
    let mut init = Vec::new();
    init.extend(SIDE_PX.to_be_bytes());
    init.extend(SIDE_PX.to_be_bytes());
    init.extend([32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0]);
    init.extend(4_u32.to_be_bytes());
    init.extend(b"desk");
    client.write_all(&init)?;
    loop {
        let [kind] = take(&mut client)?;
        match kind {
            0 => drop(take::<19>(&mut client)?),
            2 => {
                let [_, high, low] = take(&mut client)?;
                for _ in 0..u16::from_be_bytes([high, low]) {
                    take::<4>(&mut client)?;
                }
            }
            3 => picture(&mut client)?,
            4 => {
                let [down, _, _, a, b, c, d] = take(&mut client)?;
                if down == 1 {
                    let key = u32::from_be_bytes([a, b, c, d]);
                    keys.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push(key);
                    client.write_all(&[2])?;
                }
            }
            5 => drop(take::<5>(&mut client)?),
            6 => {
                let [_, _, _, a, b, c, d] = take(&mut client)?;
                let length = u64::from(u32::from_be_bytes([a, b, c, d]));
                std::io::copy(&mut (&client).take(length), &mut std::io::sink())?;
            }
            _ => anyhow::bail!("message {kind}"),
        }
    }
}

/// Answers a request for pixels. Nothing ever changes, so one for changes waits for ever.
fn picture(client: &mut TcpStream) -> anyhow::Result<()> {
    let [incremental, rect @ ..]: [u8; 9] = take(client)?;
    if incremental == 0 {
        let [.., w0, w1, h0, h1] = rect;
        let pixels =
            usize::from(u16::from_be_bytes([w0, w1])) * usize::from(u16::from_be_bytes([h0, h1]));
        let mut update = vec![0, 0, 0, 1];
        update.extend(rect);
        update.extend([0; 4]);
        update.resize(update.len() + 4 * pixels, 0x80);
        client.write_all(&update)?;
    }
    Ok(())
}

fn take<const N: usize>(client: &mut TcpStream) -> anyhow::Result<[u8; N]> {
    let mut bytes = [0; N];
    client.read_exact(&mut bytes)?;
    Ok(bytes)
}
