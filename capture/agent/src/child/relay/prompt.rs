//! What has arrived of a driver? It can be read at once, encrypted or not: the runtime may not know
//! yet that there is something.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, Interest, ReadBuf, ReadHalf},
    net::TcpStream,
};

use crate::child::{backlog::Unread, transport::Transport};

/// A socket that is asked itself before the runtime is.
pub(super) struct Prompt(pub(super) Arc<TcpStream>);

/// What has arrived at a [`Prompt`] and is read through the layers around it.
pub(super) struct Arrived<'a> {
    pub(super) socket: &'a TcpStream,
    pub(super) read: &'a mut ReadHalf<Transport>,
}

impl Unread for Arrived<'_> {
    fn arrived_bytes(&self) -> u64 {
        self.socket.arrived_bytes()
    }

    fn acknowledge(&self) {
        self.socket.acknowledge();
    }

    fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        loop {
            let arrived_bytes = self.arrived_bytes();
            let mut read = ReadBuf::new(buffer);
            let mut nobody = Context::from_waker(Waker::noop());
            match Pin::new(&mut *self.read).poll_read(&mut nobody, &mut read) {
                Poll::Ready(Ok(())) => return Some(read.filled().len()).filter(|&len| len > 0),
                // It was the first part of something encrypted, whose rest may come only now that
                // this is taken.
                Poll::Pending if arrived_bytes > 0 => self.acknowledge(),
                Poll::Ready(Err(_)) | Poll::Pending => return None,
            }
        }
    }
}

impl AsyncRead for Prompt {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut read = || Ok(rustix::io::read(&*self.0, buffer.initialize_unfilled())?);
        let waits = |read: &io::Result<usize>| {
            let error = read.as_ref().err().map(io::Error::kind);
            error == Some(io::ErrorKind::WouldBlock)
        };
        let mut done = read();
        while waits(&done) {
            ready!(self.0.poll_read_ready(cx))?;
            // Where the runtime was wrong, this is how it learns.
            done = self.0.try_io(Interest::READABLE, &mut read);
        }
        buffer.advance(done?);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prompt {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = rustix::net::shutdown(&*self.0, rustix::net::Shutdown::Write);
        Poll::Ready(Ok(shut?))
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, net::TcpListener};

    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test]
    async fn what_has_arrived_is_read_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = std::net::TcpStream::connect(address).unwrap();
        let (stream, _) = listener.accept().unwrap();
        stream.set_nonblocking(true).unwrap();
        let socket = Arc::new(TcpStream::from_std(stream).unwrap());
        let plain: Transport = Box::new(Prompt(Arc::clone(&socket)));
        let (mut read, _write) = tokio::io::split(plain);
        let mut buffer = [0; 8];
        let mut take = |read: &mut ReadHalf<Transport>| {
            let socket = &*socket;
            let len = Arrived { socket, read }.take(&mut buffer)?;
            Some(buffer[..len].to_vec())
        };
        assert_eq!(take(&mut read), None);
        for sent in [b"one", b"two"] {
            client.write_all(sent).unwrap();
            // Nothing is awaited: the runtime has no chance to hear of it.
            assert_eq!(take(&mut read).as_deref(), Some(&sent[..]));
        }
        let mut buffer = [0; 8];
        client.write_all(b"three").unwrap();
        assert_eq!(read.read(&mut buffer).await.unwrap(), 5);
        drop(client);
        assert_eq!(read.read(&mut buffer).await.unwrap(), 0);
    }
}
