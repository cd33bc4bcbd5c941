//! What does whoever runs the recorder or the server see of it? Its log, its numbers, whether it is
//! well, and the listener that answers for the last two. What is counted, and what it takes to be
//! well, each program says itself.

pub mod fault;
pub mod health;
pub mod listen;
pub mod log;
pub mod numbers;
