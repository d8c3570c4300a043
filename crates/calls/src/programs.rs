//! Operations that make processes: fork, exec, the shell, a process that executes itself, eight scripts.
//!
//! Measuring side, hot. Every child is waited for. Each program is tried once beforehand, as only that tells why it
//! cannot be executed.

use crate::failure::{Done, OperationFailure};
use crate::files::c_path;
use crate::station::Station;
use bakeoff_sys::process;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, execv};
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};

const SHELL: &CStr = c"/bin/sh";
/// A shell that executes itself anew as often as its argument says.
const ANEW: &CStr = cr#"[ "$1" -gt 0 ] || exit 0; exec /bin/sh -c "$0" "$0" $(($1 - 1))"#;
/// Eight scripts at the same time, over files of their own in this directory.
const EIGHT: &str = r#"cd "$1" || exit 1
pids=
for i in 1 2 3 4 5 6 7 8; do /bin/sh ./one.sh $i & pids="$pids $!"; done
for pid in $pids; do wait $pid || exit 1; done
"#;
/// UnixBench's script: sort, od, grep, tee and wc over a small file.
const ONE: &str = r#"set -e
sort < words > sorted.$1
od sorted.$1 | sort -n > dumped.$1
grep the sorted.$1 | tee found.$1 | wc > counted.$1
rm sorted.$1 dumped.$1 found.$1 counted.$1
"#;
/// Lines of the small file; with them it has about the size of UnixBench's.
const LINES: u32 = 80;

pub(crate) struct Fork;

impl Station for Fork {
    fn run(&mut self, count: u64) -> Done {
        (0..count).try_for_each(|_| child(|| 0))
    }
}

/// A program in a child.
pub(crate) struct Exec {
    argv: Vec<CString>,
}

impl Exec {
    /// This program itself.
    pub(crate) fn new(program: &Path) -> Done<Self> {
        Self::tried(vec![c_path(program)?])
    }

    /// The shell, which executes this program.
    pub(crate) fn by_shell(program: &Path) -> Done<Self> {
        Self::tried(vec![SHELL.to_owned(), c"-c".to_owned(), c"\"$0\"".to_owned(), c_path(program)?])
    }

    fn tried(argv: Vec<CString>) -> Done<Self> {
        let words: Vec<&OsStr> = argv.iter().map(|word| OsStr::from_bytes(word.to_bytes())).collect();
        try_out(&words)?;
        Ok(Self { argv })
    }
}

impl Station for Exec {
    fn run(&mut self, count: u64) -> Done {
        (0..count).try_for_each(|_| execute(&self.argv))
    }
}

pub(crate) struct Execl;

impl Execl {
    pub(crate) fn new() -> Done<Self> {
        let (shell, script) = (OsStr::from_bytes(SHELL.to_bytes()), OsStr::from_bytes(ANEW.to_bytes()));
        try_out(&[shell, OsStr::new("-c"), script, script, OsStr::new("1")])?;
        Ok(Self)
    }
}

impl Station for Execl {
    /// One process, executed `count` times.
    fn run(&mut self, count: u64) -> Done {
        let times = CString::new(count.saturating_sub(1).to_string()).unwrap_or_default();
        execute(&[SHELL, c"-c", ANEW, ANEW, &times])
    }
}

pub(crate) struct Shell8(Exec);

impl Shell8 {
    pub(crate) fn new(dir: &Path) -> Done<Self> {
        let line =
            |number: u32| format!("{} the {number} quick brown fox\n", number.wrapping_mul(7919) % 1000);
        let words: String = (0..LINES).map(line).collect();
        for (name, text) in [("eight.sh", EIGHT), ("one.sh", ONE), ("words", &words)] {
            fs::write(dir.join(name), text).map_err(OperationFailure::io("writing a script"))?;
        }
        let argv = vec![SHELL.to_owned(), c_path(&dir.join("eight.sh"))?, c_path(dir)?];
        Exec::tried(argv).map(Self)
    }
}

impl Station for Shell8 {
    fn run(&mut self, count: u64) -> Done {
        self.0.run(count)
    }
}

fn try_out(words: &[&OsStr]) -> Done {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().map_err(OperationFailure::io("executing a program"))?;
    if status.success() {
        Ok(())
    } else {
        Err(OperationFailure::Wrong(format!("{}: {status}", words[0].display())))
    }
}

fn execute<S: AsRef<CStr>>(argv: &[S]) -> Done {
    child(|| match execv(argv[0].as_ref(), argv) {
        Ok(never) => match never {},
        Err(_) => 127,
    })
}

/// Runs it in a child, and waits for that.
fn child(work: impl FnOnce() -> i32) -> Done {
    let pid = process::fork(work).map_err(OperationFailure::io("fork"))?;
    match waitpid(Pid::from_raw(pid as i32), None).map_err(OperationFailure::of("waiting for a child"))? {
        WaitStatus::Exited(_, 0) => Ok(()),
        other => Err(OperationFailure::Wrong(format!("a child ended so: {other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A program that leaves a line each time it is executed. Another process writes it: as long as one that was forked
    /// beside this test has it open for writing it cannot be executed.
    fn program(dir: &Path, mode: u32) -> PathBuf {
        let program = dir.join("a program");
        let script = format!("#!/bin/sh\necho >> '{}/lines'\n", dir.display());
        let write = Command::new("/bin/sh")
            .args(["-c", "printf %s \"$0\" > \"$1\" && chmod \"$2\" \"$1\"", &script])
            .arg(&program)
            .arg(format!("{mode:o}"))
            .status();
        assert!(write.unwrap().success());
        program
    }

    fn lines(dir: &Path) -> usize {
        fs::read(dir.join("lines")).unwrap_or_default().len()
    }

    #[test]
    fn a_program_is_executed_as_often_as_a_batch_says() {
        let dir = tempfile::tempdir().unwrap();
        let program = program(dir.path(), 0o755);
        let mut exec = Exec::new(&program).unwrap();
        assert_eq!(lines(dir.path()), 1, "it is tried once");
        exec.run(3).unwrap();
        assert_eq!(lines(dir.path()), 4);
        let mut shell = Exec::by_shell(&program).unwrap();
        shell.run(3).unwrap();
        assert_eq!(lines(dir.path()), 8);
        Fork.run(3).unwrap();
        assert_eq!(lines(dir.path()), 8);
    }

    #[test]
    fn what_cannot_be_executed_is_named_and_what_fails_is_no_success() {
        let dir = tempfile::tempdir().unwrap();
        let forbidden = Exec::new(&program(dir.path(), 0o644)).err().unwrap();
        assert_eq!(
            (forbidden.word(), forbidden.to_string()),
            ("EACCES".to_owned(), "executing a program: Permission denied".to_owned())
        );
        assert_eq!(Exec::new(Path::new("/nobody/here")).err().unwrap().word(), "ENOENT");
        let mut exec = Exec::new(&program(dir.path(), 0o755)).unwrap();
        program(dir.path(), 0o644);
        assert!(exec.run(1).unwrap_err().to_string().contains("127"));
        assert_eq!(Exec::new(Path::new("/bin/false")).err().unwrap().word(), "wrong");
    }

    #[test]
    fn a_shell_executes_itself_as_often_as_its_argument_says() {
        // The same script, whose steps the shell shows.
        let shown = Command::new("/bin/sh")
            .args(["-c", &format!("echo >&2; {}", ANEW.to_str().unwrap()), "echo >&2; exit 0", "3"])
            .output()
            .unwrap();
        assert_eq!(shown.stderr, b"\n\n", "the first, and the one that it became");
        let mut execl = Execl::new().unwrap();
        execl.run(5).unwrap();
    }

    #[test]
    fn eight_scripts_leave_nothing_and_a_failure_of_one_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let mut eight = Shell8::new(dir.path()).unwrap();
        eight.run(1).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 3);
        let one = fs::read_to_string(dir.path().join("one.sh")).unwrap();
        fs::write(dir.path().join("one.sh"), format!("echo $1 >> ran\n{one}[ $1 != 5 ]")).unwrap();
        assert_eq!(eight.run(1).unwrap_err().word(), "wrong");
        let mut ran: Vec<_> =
            fs::read_to_string(dir.path().join("ran")).unwrap().lines().map(str::to_owned).collect();
        ran.sort_unstable();
        assert_eq!(ran, ["1", "2", "3", "4", "5", "6", "7", "8"]);
    }
}
