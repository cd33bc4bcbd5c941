//! The options of `proxy`.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::Record;

#[derive(Debug, Args)]
pub(crate) struct Proxy {
    #[command(flatten)]
    pub(crate) record: Record,
    /// Where drivers connect, such as 127.0.0.1:5999
    #[arg(long, env = "PLAYHEAD_LISTEN", value_name = "ADDR")]
    pub(crate) listen: SocketAddr,
    /// Serve one driver and end with its session
    #[arg(long)]
    pub(crate) once: bool,
    /// How the machine is connected to: shared, twice, the driver's end to end; single, once, and
    /// everybody is served from the recorder's picture; auto asks the machine, which disconnects
    /// others if it allows one connection
    #[arg(long, env = "PLAYHEAD_UPSTREAM", value_enum, default_value_t)]
    pub(crate) upstream: Upstream,
}

/// How a proxied machine is to be connected to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Upstream {
    /// As many times as it allows.
    #[default]
    Auto,
    /// Once by each driver, and once by the recorder.
    Shared,
    /// Once, by the recorder.
    Single,
}

#[cfg(test)]
mod tests {
    use super::super::*;
    use clap::Parser as _;

    #[test]
    fn the_proxy_takes_the_options_of_record() {
        let args = "playhead-agent proxy vnc://desk --listen 127.0.0.1:0 --once --run r-1";
        let cli = Cli::try_parse_from(args.split(' ')).unwrap();
        let Command::Proxy(proxy) = cli.command else {
            unreachable!("the arguments say proxy");
        };
        assert!(proxy.once);
        assert_eq!(proxy.record.source.to_string(), "vnc://desk:5900");
        let nowhere = Cli::try_parse_from(["playhead-agent", "proxy", "vnc://desk"]).unwrap_err();
        assert!(nowhere.to_string().contains("--listen"), "{nowhere}");
    }
}
