//! What can a server that means harm do to the recorder? Nothing but end its own session, for a
//! stated reason, in little memory, while the session beside is untouched.

mod rdp;
mod recorded;
mod vnc;
