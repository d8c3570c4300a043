//! Hosts of a domain, run by commands: an agent, a file server, and clients that mount from it.

use crate::daemon::{Mount, ready};
use crate::support::command;
use crate::yard::Yard;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

const SERVER: &str = "files@home.example";

/// The domain home.example; everything started ends with its test.
pub(crate) struct Hosts {
    pub(crate) yard: Yard,
    server: Option<Child>,
    address: String,
}

impl Hosts {
    /// The users are certified, the server is logged in, and the directories `export`, `a` and `b` exist.
    pub(crate) fn new(users: &[&str]) -> Self {
        let yard = Yard::new(&["home.example"]);
        users.iter().for_each(|user| yard.certify("user", &name(user)));
        yard.certify("node", SERVER);
        yard.logged_in("node", SERVER, &[]);
        for directory in ["export", "a", "b"] {
            fs::create_dir(yard.path(directory)).unwrap();
        }
        fs::write(yard.path("export/file"), "text").unwrap();
        Self { yard, server: None, address: String::new() }
    }

    /// The same, with a server running with this list; users are logged in for this time.
    pub(crate) fn serving(users: &[&str], list: &str, logged_in: &str) -> Self {
        let mut hosts = Self::new(users);
        users.iter().for_each(|user| hosts.login(user, &["--for", logged_in]));
        hosts.serve(list, command("serve"));
        hosts
    }

    /// The same; Alice may do everything, and has something to hand on to Bob: `x/file`.
    pub(crate) fn sharing() -> Self {
        let mut hosts = Self::new(&["alice", "bob"]);
        hosts.login("alice", &[]);
        fs::create_dir(hosts.yard.path("export/x")).unwrap();
        fs::write(hosts.yard.path("export/x/file"), "text").unwrap();
        hosts.serve("/ allow user:alice@home.example all\n", command("serve"));
        hosts
    }

    #[track_caller]
    pub(crate) fn login(&self, user: &str, more: &[&str]) {
        self.yard.logged_in("user", &name(user), more);
    }

    /// Alice delegates everything below `x` to Bob, who logs in to act through it.
    pub(crate) fn hand_on(&self) {
        let words = [
            "delegate",
            "--to",
            "bob@home.example.identity",
            "--grant",
            "/x=read,list",
            "--until",
            "2100-01-01",
        ];
        let more = [
            "--at",
            "node:files@home.example",
            "--out",
            "x.transfer",
            "--session",
            "alice@home.example.session",
        ];
        self.yard.good(&[&words[..], &more].concat());
        self.login("bob", &["--with", "x.transfer"]);
    }

    /// She revokes it.
    pub(crate) fn take_back(&self) {
        self.yard.good(&["revoke", "x.transfer", "--session", "alice@home.example.session"]);
    }

    /// The directory of a user's session.
    pub(crate) fn session(&self, user: &str) -> PathBuf {
        self.yard.path(&format!("{}.session", name(user)))
    }

    /// Starts the server by a command, which is `remotefs serve` or leads to it.
    pub(crate) fn serve(&mut self, list: &str, mut command: Command) {
        fs::write(self.yard.path("acl"), list).unwrap();
        self.served_by(&mut command);
        let (server, line) = ready(&mut command, "listening on ");
        self.address = line.strip_prefix("listening on ").unwrap().split(": ").next().unwrap().to_owned();
        self.server = Some(server);
    }

    /// The arguments of a server.
    pub(crate) fn served_by(&self, command: &mut Command) {
        command.arg(self.yard.path("export")).args(["--listen", "127.0.0.1:0", "--term", "1"]);
        for (flag, path) in [
            ("--acl", "acl"),
            ("--session", "files@home.example.session"),
            ("--trust", "trust"),
            ("--audit", "audit"),
            ("--status", "server.status"),
        ] {
            command.arg(flag).arg(self.yard.path(path));
        }
    }

    /// The server, which must be running.
    pub(crate) fn server(&mut self) -> &mut Child {
        self.server.as_mut().unwrap()
    }

    pub(crate) fn server_says(&self) -> String {
        fs::read_to_string(self.yard.path("server.status")).unwrap()
    }

    /// A command that mounts at `a` or `b` as a user.
    pub(crate) fn mounting(&self, user: &str, at: &str, server: &str) -> Command {
        let mut mount = command("mount");
        mount.arg(&self.address).arg(self.yard.path(at)).args(["--as-server", server]);
        mount.arg("--session").arg(self.session(user)).arg("--trust").arg(self.yard.path("trust"));
        mount.arg("--status").arg(self.yard.path(&format!("{at}.status")));
        mount
    }

    pub(crate) fn mount(&self, user: &str, at: &str) -> Mount {
        let status = self.yard.path(&format!("{at}.status"));
        Mount::of(self.mounting(user, at, "node:files@home.example"), self.yard.path(at), status)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn name(user: &str) -> String {
    format!("{user}@home.example")
}
