//! A track against simulated time: hours of it, with a codec that codes nothing.

mod beside;
mod cuts;
mod gaps;
mod idle;
mod marks;
mod rig;
mod sizes;
mod whole;

use capture::Size;

const SIZE: Size = Size::new(64, 48);
