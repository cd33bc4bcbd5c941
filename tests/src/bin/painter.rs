//! Which paint does a frame show? A window that says so itself: it paints the wall time and a
//! counter as a block code at irregular moments, and logs when the X server had each of them.

use std::fs::File;
use std::io::Write as _;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use clap::Parser;
use pipeline_tests::clock;
use pipeline_tests::code::{self, Code};
use pipeline_tests::paint_log::Paint;
use pipeline_tests::schedule::Schedule;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{
    ChangeGCAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, Gcontext, ImageFormat,
    ImageOrder, Rectangle, Screen, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;

/// Paints the wall time as a block code at irregular moments.
#[derive(Debug, Parser)]
struct Options {
    /// Distance of the window from the screen's left edge; a multiple of 16 keeps blocks on
    /// macroblocks.
    #[arg(long, default_value_t = 32)]
    x_px: i16,
    /// Distance from the screen's top edge.
    #[arg(long, default_value_t = 32)]
    y_px: i16,
    /// Width of the window; the code takes 192.
    #[arg(long, default_value_t = 384)]
    width_px: u16,
    /// Height of the window; the code takes 96.
    #[arg(long, default_value_t = 192)]
    height_px: u16,
    /// Chooses the moments.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to paint; the window stays until the program is ended.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// A span without a paint, in seconds after the start; may be repeated.
    #[arg(long, value_name = "FROM-TO", value_parser = parse_span)]
    idle: Vec<Range<u64>>,
    /// Where to write one JSON object for each paint.
    #[arg(long)]
    log: PathBuf,
}

fn parse_span(text: &str) -> Result<Range<u64>, String> {
    let parsed = text
        .split_once('-')
        .and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    parsed
        .filter(|span| !span.is_empty())
        .ok_or_else(|| format!("{text:?} is not FROM-TO in seconds, such as 20-85"))
}

fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    let mut log = File::create(&options.log)
        .with_context(|| format!("cannot write {}", options.log.display()))?;
    let mut canvas = Canvas::open(&options)?;
    let idle_ms = options
        .idle
        .iter()
        .map(|span| span.start * 1_000..span.end * 1_000)
        .collect();
    let start = clock::monotonic();
    let due = Schedule::new(options.seed, options.seconds * 1_000, idle_ms);
    for (n, due_ms) in (0..).zip(std::iter::once(0).chain(due)) {
        let due = start + Duration::from_millis(due_ms);
        std::thread::sleep(due.saturating_duration_since(clock::monotonic()));
        let utc_ms = clock::utc_ms();
        canvas.paint(n, utc_ms)?;
        let paint = Paint {
            n,
            utc_ms,
            painted_ms: clock::utc_ms(),
        };
        writeln!(log, "{}", serde_json::to_string(&paint)?)?;
    }
    loop {
        canvas.connection.wait_for_event()?;
    }
}

/// The window, and what is needed to paint in it.
struct Canvas {
    connection: RustConnection,
    window: Window,
    gc: Gcontext,
    width_px: u16,
    height_px: u16,
}

const BACKGROUND: u32 = 0x1f_2937;
const TRACK: u32 = 0x37_4151;
const BAR: [u32; 4] = [0x38_bdf8, 0xfb_bf24, 0x34_d399, 0xf4_72b6];
/// A bar crosses the window in this many paints.
const BAR_STEPS: u64 = 24;

impl Canvas {
    fn open(options: &Options) -> anyhow::Result<Self> {
        let (connection, number) = x11rb::connect(None).context("cannot open $DISPLAY")?;
        let setup = connection.setup();
        let screen = setup.roots.get(number).context("no such screen")?.clone();
        ensure!(
            screen.root_depth == 24 && setup.image_byte_order == ImageOrder::LSB_FIRST,
            "the painter needs a little-endian display of depth 24"
        );
        let window = create_window(&connection, &screen, options)?;
        let gc = connection.generate_id()?;
        connection.create_gc(gc, window, &CreateGCAux::new().graphics_exposures(0))?;
        connection.map_window(window)?;
        Ok(Self {
            connection,
            window,
            gc,
            width_px: options.width_px,
            height_px: options.height_px,
        })
    }

    /// Paints and returns when the X server has done it. The code is one request, so no
    /// picture can show half of it.
    fn paint(&mut self, n: u64, utc_ms: u64) -> anyhow::Result<()> {
        self.paint_bar(n)?;
        let counter = u16::try_from(n & 0xffff)?;
        let pixels = code_pixels(Code { utc_ms, n: counter });
        self.connection.put_image(
            ImageFormat::Z_PIXMAP,
            self.window,
            self.gc,
            u16::try_from(code::WIDTH_PX)?,
            u16::try_from(code::HEIGHT_PX)?,
            0,
            0,
            0,
            24,
            &pixels,
        )?;
        // Requests are carried out in order, so an answer to this one proves the paint.
        self.connection.get_input_focus()?.reply()?;
        Ok(())
    }

    /// Something for people: a bar that moves on with each paint below the code.
    fn paint_bar(&self, n: u64) -> anyhow::Result<()> {
        let top = i16::try_from(code::HEIGHT_PX)? + 16;
        let height = self
            .height_px
            .saturating_sub(u16::try_from(code::HEIGHT_PX)? + 32);
        let step = u64::from(self.width_px) / BAR_STEPS;
        let place = i16::try_from(n % BAR_STEPS * step)?;
        let colour = usize::try_from(n / BAR_STEPS)? % BAR.len();
        self.fill(TRACK, 0, top, self.width_px, height)?;
        self.fill(BAR[colour], place, top, u16::try_from(step)?, height)
    }

    fn fill(&self, colour: u32, x: i16, y: i16, width: u16, height: u16) -> anyhow::Result<()> {
        let area = Rectangle {
            x,
            y,
            width,
            height,
        };
        let ink = ChangeGCAux::new().foreground(colour);
        self.connection.change_gc(self.gc, &ink)?;
        self.connection
            .poly_fill_rectangle(self.window, self.gc, &[area])?;
        Ok(())
    }
}

/// Override-redirect, so that no window manager moves it or covers it with a frame.
fn create_window(
    connection: &RustConnection,
    screen: &Screen,
    options: &Options,
) -> anyhow::Result<Window> {
    let window = connection.generate_id()?;
    connection.create_window(
        screen.root_depth,
        window,
        screen.root,
        options.x_px,
        options.y_px,
        options.width_px,
        options.height_px,
        0,
        WindowClass::INPUT_OUTPUT,
        screen.root_visual,
        &CreateWindowAux::new()
            .override_redirect(1)
            .background_pixel(BACKGROUND),
    )?;
    Ok(window)
}

/// The code as rows of blue, green, red, unused bytes.
fn code_pixels(code: Code) -> Vec<u8> {
    let blocks = code::encode(code);
    (0..code::HEIGHT_PX * code::WIDTH_PX)
        .flat_map(|pixel| {
            let (x, y) = (pixel % code::WIDTH_PX, pixel / code::WIDTH_PX);
            let white = blocks[y / code::BLOCK_PX * code::COLUMNS + x / code::BLOCK_PX];
            [if white { 255 } else { 0 }; 4]
        })
        .collect()
}
