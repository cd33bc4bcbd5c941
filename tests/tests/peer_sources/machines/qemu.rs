//! A PC in QEMU without an operating system: 114 bytes of its own paint the screen.

use std::{
    fmt::Write as _,
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
    path::PathBuf,
    process::Command,
    time::Duration,
};

use capture::{Point, Size};
use capture_vnc::Config;
use pipeline_tests::process::Process;
use tempfile::TempDir;

use super::VncLink;
use crate::{
    machine::{Machine, VncMachine},
    recorder::Link,
    screenshot::Screenshot,
};

/// Boots, then waits for keys: `s` and `l` set the smaller and the larger size, `b` paints black,
/// `x` many pictures one after the other, `p` gives an ATI card a pointer, and any other key paints
/// a picture of its own.
///
/// ```text
///         xor ax, ax; mov ds, ax; mov ss, ax; mov sp, 7c00; push a000; pop es; cld
///         mov ax, 13; mov bp, 64000; jmp mode     ; 320 by 200, a byte a pixel
/// key:    xor ax, ax; int 16; mov bp, 64000
///         cmp al, 's'; je small; cmp al, 'l'; je large; cmp al, 'x'; je burst
///         cmp al, 'b'; je black; cmp al, 'p'; je pointer
///         mov bl, al; call draw; jmp key
/// small:  mov ax, 13
/// mode:   int 10; call draw; jmp key
/// large:  mov ax, 12; jmp mode                    ; 640 by 480, a bit a pixel and plane
/// black:  xor di, di; mov cx, bp; xor al, al; rep stosb; jmp key
/// burst:  mov si, 150
/// next:   inc bl; call draw; dec si; jnz next; jmp key
/// draw:   xor di, di
/// pixel:  mov ax, di; xor dx, dx; mov cx, 320; div cx; xor al, dl; add al, bl; stosb
///         cmp di, bp; jne pixel; ret
/// pointer:                                        ; its registers by port, as PCI slot 2 says
///         mov eax, 80001014; mov dx, cf8; out dx, eax; mov dl, fc; in eax, dx; lea dx, [eax-1]
///         mov eax, 26c; out dx, eax; add dx, 4    ; CUR_CLR0
///         mov eax, ff00ff; out dx, eax; sub dx, 4
///         mov eax, 260; out dx, eax; add dx, 4    ; CUR_OFFSET: memory that is all zero
///         mov eax, 40000; out dx, eax; jmp key
/// ```
const PAINTER: &[u8] = b"\x31\xc0\x8e\xd8\x8e\xd0\xbc\x00\x7c\x68\x00\xa0\x07\xfc\xb8\x13\
    \x00\xbd\x00\xfa\xeb\x25\x31\xc0\xcd\x16\xbd\x00\xfa\x3c\x73\x74\
    \x17\x3c\x6c\x74\x1d\x3c\x78\x74\x28\x3c\x62\x74\x1a\x3c\x70\x74\
    \x42\x88\xc3\xe8\x28\x00\xeb\xde\xb8\x13\x00\xcd\x10\xe8\x1e\x00\
    \xeb\xd4\xb8\x12\x00\xeb\xf4\x31\xff\x89\xe9\x30\xc0\xf3\xaa\xeb\
    \xc5\xbe\x96\x00\xfe\xc3\xe8\x05\x00\x4e\x75\xf8\xeb\xb8\x31\xff\
    \x89\xf8\x31\xd2\xb9\x40\x01\xf7\xf1\x30\xd0\x00\xd8\xaa\x39\xef\
    \x75\xee\xc3\x66\xb8\x14\x10\x00\x80\xba\xf8\x0c\x66\xef\xb2\xfc\
    \x66\xed\x67\x8d\x50\xff\x66\xb8\x6c\x02\x00\x00\x66\xef\x83\xc2\
    \x04\x66\xb8\xff\x00\xff\x00\x66\xef\x83\xea\x04\x66\xb8\x60\x02\
    \x00\x00\x66\xef\x83\xc2\x04\x66\xb8\x00\x00\x04\x00\x66\xef\xe9\
    \x64\xff";

/// The pointer of an ATI card: a square of this size, magenta, its hot spot in the corner.
pub(crate) const POINTER_PX: u32 = 64;

const SMALL: Size = Size::new(640, 400);
const LARGE: Size = Size::new(640, 480);
const START: Duration = Duration::from_secs(30);

pub(crate) struct Qemu {
    pub(crate) port: u16,
    server: Process,
    folder: TempDir,
}

impl Qemu {
    pub(crate) fn start(number: u16) -> Self {
        Self::start_with(number, &[])
    }

    /// One whose pointer is its clients' to draw, and is not part of its picture.
    pub(crate) fn with_pointer(number: u16) -> Self {
        let ati = ["-vga", "none", "-device", "ati-vga,addr=2"];
        let machine = Self::start_with(number, &ati);
        machine.key('l');
        machine.key('p');
        machine.settle();
        machine
    }

    fn start_with(number: u16, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut sector = PAINTER.to_vec();
        sector.resize(510, 0);
        sector.extend([0x55, 0xaa]);
        let disk = folder.path().join("disk");
        std::fs::write(&disk, sector).unwrap();
        let mut command = Command::new("qemu-system-x86_64");
        command
            .args(["-display", "none", "-machine", "accel=tcg", "-m", "16"])
            .args(["-net", "none", "-vnc", &format!("127.0.0.1:{number}")])
            .args(options)
            .arg("-drive")
            .arg(format!("file={},format=raw", disk.display()))
            .arg("-monitor")
            .arg(format!(
                "unix:{},server=on,wait=off",
                monitor(&folder).display()
            ));
        let server = Process::start("qemu", folder.path(), &mut command)
            .unwrap_or_else(|error| panic!("{error:#}: packages.txt lists qemu-system-x86"));
        let port = 5900 + number;
        let mut machine = Self {
            port,
            server,
            folder,
        };
        let answers = || VncLink::answers(port) && monitor(&machine.folder).exists();
        machine.server.wait_until("QEMU", START, answers).unwrap();
        let painted = "the painter's first picture";
        pipeline_tests::clock::wait_for(painted, START, || {
            let shown = machine.screenshot();
            Ok((shown.size == SMALL && shown.colours() > 200).then_some(()))
        })
        .unwrap();
        machine
    }

    /// Says something to QEMU's monitor and waits until it is done.
    fn command(&self, command: &str) {
        let mut monitor = UnixStream::connect(monitor(&self.folder)).unwrap();
        let prompt = |monitor: &mut UnixStream| {
            let mut heard = Vec::new();
            let mut byte = [0];
            while !heard.ends_with(b"(qemu) ") {
                monitor.read_exact(&mut byte).unwrap();
                heard.extend(byte);
            }
        };
        prompt(&mut monitor);
        writeln!(monitor, "{command}").unwrap();
        prompt(&mut monitor);
    }

    fn key(&self, key: char) {
        let mut command = "sendkey ".to_owned();
        command.write_char(key).unwrap();
        self.command(&command);
    }
}

fn monitor(folder: &TempDir) -> PathBuf {
    folder.path().join("monitor")
}

impl VncMachine for Qemu {
    fn connect_with(&self, config: Config) -> Box<dyn Link> {
        Box::new(VncLink::connect(self.port, config))
    }
}

impl Machine for Qemu {
    fn connect(&self) -> Box<dyn Link> {
        self.connect_with(Config::default())
    }

    fn screenshot(&self) -> Screenshot {
        let file = self.folder.path().join("screen.ppm");
        self.command(&format!("screendump {}", file.display()));
        Screenshot::of_ppm(&std::fs::read(file).unwrap())
    }

    fn paint(&mut self, scene: u8) {
        self.key(char::from(b'0' + scene));
        self.settle();
    }

    fn blacken(&mut self) {
        self.key('b');
        self.settle();
    }

    fn burst(&mut self) {
        self.key('x');
    }

    fn sizes(&self) -> Vec<Size> {
        vec![LARGE, SMALL]
    }

    fn resize(&mut self, size: Size) {
        self.key(if size == LARGE { 'l' } else { 's' });
    }

    /// There is none: no guest moves a pointer by itself.
    fn point(&mut self, _: Point) {}

    fn server(&mut self) -> &mut Process {
        &mut self.server
    }
}
