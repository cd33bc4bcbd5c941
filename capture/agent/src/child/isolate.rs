//! What may the child do? Decode, encode, append to its spool and talk to its source: whoever
//! takes it over through a decoder finds a process that can do little else.
//!
//! It is not killed with its parent: it has to sync first, and sees its input close.

use std::{collections::BTreeMap, io};

use rustix::process::{DumpableBehavior, Resource, Rlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Pipes, the source, the spool and what an event loop needs: twenty or so.
const MAX_FDS: u64 = 256;
/// Far above what an 8K screen takes, threads' stacks and arenas counted, which are mostly never
/// touched. The parent stops a child long before, at what it truly holds.
const MAX_ADDRESS_BYTES: u64 = 4 << 30;
/// No spool file comes near: one holds about a minute of coded pictures.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Gives up, for good, what no part of the child needs. To be called before any thread starts.
///
/// # Errors
/// When the kernel refuses.
pub(super) fn give_up_privileges() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // No core files with pixels in them, and no other process of this user looks into its memory.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    for (resource, at_most) in [
        (Resource::Core, 0),
        (Resource::Nofile, MAX_FDS),
        (Resource::As, MAX_ADDRESS_BYTES),
        (Resource::Fsize, MAX_FILE_BYTES),
    ] {
        let now = rustix::process::getrlimit(resource);
        let at_most = now.maximum.map_or(at_most, |now| now.min(at_most));
        let limit = Rlimit {
            current: Some(at_most),
            maximum: Some(at_most),
        };
        rustix::process::setrlimit(resource, limit)?;
    }
    Ok(())
}

/// Closes what was inherited from `first_fd` on. To be called before this process opens anything.
#[expect(
    unsafe_code,
    reason = "no safe wrapper can know that nobody owns these"
)]
pub(super) fn close_inherited_from(first_fd: u32) -> io::Result<()> {
    // SAFETY: nothing is open yet but what was inherited, and of that nothing past `first_fd` is
    // owned by any part of this program.
    match unsafe { libc::close_range(first_fd, libc::c_uint::MAX, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Why the system calls could not be confined.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfineError {
    #[error("building the filter of system calls")]
    Build(#[from] seccompiler::BackendError),
    #[error("installing the filter of system calls")]
    Install(#[from] seccompiler::Error),
}

/// Refuses to all threads, from now on, the system calls that only an intruder would make. To be
/// called once GStreamer has looked for its plugins, which it does in a process of its own.
///
/// # Errors
/// When the kernel has no such filters.
pub(super) fn confine() -> Result<(), ConfineError> {
    for program in filters()? {
        seccompiler::apply_filter_all_threads(&program)?;
    }
    Ok(())
}

/// A list of what is refused, not of what is allowed: encoders for hardware talk to drivers in
/// ways of their own, and an encoder that fails at night records nothing.
fn filters() -> Result<[BpfProgram; 2], ConfineError> {
    let always = |call: &libc::c_long| (*call, Vec::new());
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(always).collect();
    let condition = |argument, op, value: libc::c_int| {
        SeccompCondition::new(argument, Len::Dword, op, u64::from(value.cast_unsigned()))
    };

    // A clone that is no thread is a new process.
    let thread = Op::MaskedEq(u64::from(libc::CLONE_THREAD.cast_unsigned()));
    let process = SeccompRule::new(vec![condition(0, thread, 0)?])?;
    refused.insert(libc::SYS_clone, vec![process]);

    // Names are resolved through netlink, too; all else is of no use to a client.
    let families = [
        libc::AF_UNIX,
        libc::AF_INET,
        libc::AF_INET6,
        libc::AF_NETLINK,
    ];
    let other = families.map(|family| condition(0, Op::Ne, family));
    let other = SeccompRule::new(other.into_iter().collect::<Result<_, _>>()?)?;
    refused.insert(libc::SYS_socket, vec![other]);

    // A process that aborts signals itself.
    let own = libc::c_int::try_from(std::process::id()).unwrap_or(0);
    let others = SeccompRule::new(vec![condition(0, Op::Ne, own)?])?;
    refused.insert(libc::SYS_tgkill, vec![others]);

    // What it is asked to do lies in memory, out of a filter's sight; the C library then asks the
    // old way.
    let clone3 = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    Ok([
        program(clone3, libc::ENOSYS)?,
        program(refused, libc::EPERM)?,
    ])
}

fn program(
    refused: BTreeMap<i64, Vec<SeccompRule>>,
    errno: libc::c_int,
) -> Result<BpfProgram, ConfineError> {
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let target = std::env::consts::ARCH.try_into()?;
    let filter = SeccompFilter::new(refused, SeccompAction::Allow, refuse, target)?;
    Ok(filter.try_into()?)
}

/// Starting programs, serving others, looking into other processes, changing what the machine is,
/// and the kernel's larger attack surfaces.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_mknodat,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_capset,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_fanotify_init,
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, process::Command};

    /// Does `work` on a thread that is confined as the child is; the other threads are not.
    fn confined<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let confined = || {
                for program in filters().unwrap() {
                    seccompiler::apply_filter(&program).unwrap();
                }
                work()
            };
            scope.spawn(confined).join().unwrap()
        })
    }

    #[test]
    fn an_intruder_starts_nothing_and_serves_nothing() {
        let refused = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        confined(|| {
            assert!(refused(Command::new("true").status().unwrap_err()));
            assert!(refused(TcpListener::bind("127.0.0.1:0").unwrap_err()));
            let other = rustix::process::getppid().unwrap();
            assert!(rustix::process::test_kill_process(other).is_err());
        });
    }

    #[test]
    fn what_the_child_does_it_still_does() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = server.local_addr().unwrap();
        let folder = tempfile::tempdir().unwrap();
        confined(|| {
            std::net::TcpStream::connect(address).unwrap();
            std::fs::write(folder.path().join("spool"), b"record").unwrap();
            assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
            crate::keymap::of_layout(0x407).unwrap();
        });
    }
}
