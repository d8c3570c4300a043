//! Test world: a domain with a CA and an agent, its members, and a server and mounts with their credentials. Server
//! and mounts run in this process, so that agents' notices come from a channel and credentials can be anything.

use crate::support::{PATIENCE, Raw, Site, count, until};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::daemon::mount::MountEnd;
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::bundle::{Bundles, DomainBundle, Draft};
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{SecretKey, Serial, hash};
use bakeoff_layers_credentials::leaf::{NewLeaf, make, make_root};
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::notice::{News, Notice};
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::path::PathPrefix;
use bakeoff_layers_credentials::statement::{
    Audience, DelegationScope, IdentityContent, StatusContent, Transfer, TransferRequest,
};
use bakeoff_layers_credentials::tls::{self, Holder};
use bakeoff_layers_remotefs::client::{self, ClientError, Shown};
use bakeoff_layers_remotefs::frame::{ClientRequest, ConnectionPurpose};
use bakeoff_layers_remotefs::server::{self, Credentials};
use nix::mount::{MntFlags, umount2};
use nix::sched::{CloneFlags, unshare};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Name of the server.
pub(crate) const SERVER: &str = "node:files@home.example";
const DAY_S: u64 = 86_400;
/// Number of servers started.
static SERVERS: AtomicU32 = AtomicU32::new(0);

pub(crate) fn domain() -> Domain {
    "home.example".parse().unwrap()
}

/// A domain.
pub(crate) struct World {
    ca: SecretKey,
    agent: SecretKey,
    pub(crate) bundles: Arc<Bundles>,
    /// Those that a server finds when it reads them again.
    pub(crate) next_bundles: Arc<Mutex<Arc<Bundles>>>,
}

/// A person with a key and credentials.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) name: PrincipalName,
    key: Vec<u8>,
    identity: Vec<u8>,
    pub(crate) leaf: Vec<u8>,
    pub(crate) hello: Hello,
}

impl Person {
    pub(crate) fn key(&self) -> SecretKey {
        SecretKey::of_pkcs8(&self.key).unwrap()
    }

    pub(crate) fn holder(&self) -> Holder {
        Holder { key: self.key(), leaf: self.leaf.clone() }
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let (ca, agent) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let now = now_unix_s();
        let root = make_root(&domain(), &agent, now - DAY_S, now + DAY_S).unwrap();
        let draft = Draft {
            domain: &domain(),
            version: 1,
            not_after_unix_s: now + DAY_S,
            ca: &[ca.public()],
            roots: &[root],
            addresses: &[],
        };
        let bundle = DomainBundle::read_unverified(draft.text().unwrap().as_bytes()).unwrap();
        let bundles: Arc<Bundles> = Arc::new([bundle].into_iter().collect());
        Self { ca, agent, next_bundles: Arc::new(Mutex::new(bundles.clone())), bundles }
    }

    /// A person whose leaf is valid for this time.
    pub(crate) fn person_for(&self, name: &str, life_s: u64) -> Person {
        let (name, key, now): (PrincipalName, _, _) =
            (name.parse().unwrap(), SecretKey::generate().unwrap(), now_unix_s());
        let identity = IdentityContent {
            name: name.clone(),
            key: key.public(),
            groups: Vec::new(),
            serial: Serial::random().unwrap(),
            from_unix_s: now - 60,
            until_unix_s: now + DAY_S,
        };
        let statement = identity.seal(&self.ca).unwrap();
        let leaf = self.leaf(&identity, &statement, life_s);
        let key = key.to_pkcs8().unwrap().to_vec();
        Person { name, key, identity: statement, leaf, hello: Hello::default() }
    }

    pub(crate) fn person(&self, name: &str) -> Person {
        self.person_for(name, 3600)
    }

    /// The same person with a fresh leaf.
    pub(crate) fn again(&self, person: &Person, life_s: u64) -> Person {
        let identity = IdentityContent::open(&person.identity, &person.name, &[self.ca.public()]).unwrap();
        Person { leaf: self.leaf(&identity, &person.identity, life_s), ..person.clone() }
    }

    fn leaf(&self, identity: &IdentityContent, statement: &[u8], life_s: u64) -> Vec<u8> {
        let now = now_unix_s();
        let order =
            NewLeaf { identity, statement, groups: &[], from_unix_s: now - 60, until_unix_s: now + life_s };
        make(&order, &domain(), &self.agent).unwrap()
    }

    /// Delegates; returns the receiver's credentials. Each grant is a path, and operations.
    pub(crate) fn give(
        &self,
        giver: &Person,
        receiver: &Person,
        grants: &[(&str, &str)],
        audience: &str,
    ) -> (Person, Item) {
        let now = now_unix_s();
        let scope = |(path, words): &(&str, &str)| DelegationScope {
            path: PathPrefix::parse(path).unwrap(),
            operations: Operations::of_words(words).unwrap(),
        };
        let wish = TransferRequest {
            receiver: Some(receiver.name.clone()),
            key: receiver.key().public(),
            audience: vec![Audience::parse(audience).unwrap()],
            grants: grants.iter().map(scope).collect(),
            from_unix_s: now - 60,
            until_unix_s: now + 3600,
            hops: 0,
        };
        let serial = Serial::random().unwrap();
        let made = Transfer::give(&wish, &giver.name, &giver.key(), None, serial).unwrap();
        let status = StatusContent {
            domain: domain(),
            made_unix_s: now,
            until_unix_s: now + 3600,
            good: vec![hash(&made)],
            epoch: 0,
        };
        let item = Item::Transfer(hash(&made));
        let hello = Hello {
            identities: vec![(giver.name.clone(), giver.identity.clone())],
            chain: vec![(giver.name.clone(), made)],
            statuses: vec![(domain(), status.seal(&self.agent).unwrap())],
        };
        (Person { hello, ..receiver.clone() }, item)
    }

    /// Serves the site's export by an access list.
    pub(crate) fn serve(&self, site: &Site, acl: &str) -> Served {
        self.serve_for(site, acl, 1)
    }

    /// The same, with this term for silent sessions.
    pub(crate) fn serve_for(&self, site: &Site, acl: &str, term_s: u64) -> Served {
        let (file, status) = (site.path("acl"), site.path("server.status"));
        fs::write(&file, acl).unwrap();
        let (own, (notices, hears), (told, ready)) = (self.person(SERVER), channel(), channel());
        let bundles = self.next_bundles.clone();
        let options = server::ServerOptions {
            export: site.path("export"),
            listen: "127.0.0.1:0".parse().unwrap(),
            status: Some(status.clone()),
            term: Duration::from_secs(term_s),
            credentials: Some(Credentials {
                name: own.name.clone(),
                holder: Box::new(move || Some(own.holder())),
                bundles: self.bundles.clone(),
                read_bundles: Box::new(move || Some(bundles.lock().unwrap().clone())),
                acl: file,
                notices: hears,
                // Each has a log of its own.
                audit: Some(site.path(&format!("audit-{}", SERVERS.fetch_add(1, Ordering::Relaxed)))),
                keep: None,
                revoked: Some(site.path("revoked")),
            }),
        };
        thread::spawn(move || {
            // A server takes the umask away: only of its own threads, or directories of other tests are everybody's.
            unshare(CloneFlags::CLONE_FS).unwrap();
            server::serve(options, |address| told.send(address).unwrap())
        });
        let address = ready.recv_timeout(PATIENCE).expect("a server that listens");
        Served { address, status, notices }
    }

    /// Mounts as a person, who can be changed while it is mounted.
    pub(crate) fn mount(&self, site: &Site, served: &Served, at: &str, person: &Person) -> Mounted {
        self.try_mount(site, served, at, person, SERVER).map_err(|error| error.to_string()).unwrap()
    }

    pub(crate) fn try_mount(
        &self,
        site: &Site,
        served: &Served,
        at: &str,
        person: &Person,
        server: &str,
    ) -> Result<Mounted, ClientError> {
        self.try_mount_when(site, served, at, (person, server, false))
    }

    /// The same; with `delay_connect` it connects only at the first request.
    pub(crate) fn try_mount_when(
        &self,
        site: &Site,
        served: &Served,
        at: &str,
        (person, server, delay_connect): (&Person, &str, bool),
    ) -> Result<Mounted, ClientError> {
        let status = site.path(&format!("{at}.status"));
        let who = Arc::new(Mutex::new(person.clone()));
        let shows = who.clone();
        let show = move || -> Result<(Holder, Hello), String> {
            let person = shows.lock().unwrap();
            Ok((person.holder(), person.hello.clone()))
        };
        let (server, its) = (server.parse().unwrap(), self.bundles.clone());
        let bundles = Box::new(move || its.clone());
        let options = client::ClientOptions {
            server: served.address,
            read_only: false,
            local_locks: false,
            delay_connect,
            status: Some(status.clone()),
            keeper: None,
            credentials: Some(Shown { server, bundles, show: Box::new(show), is_over: Box::new(|| false) }),
        };
        let (at, (told, ready)) = (site.path(at), channel());
        let place = at.clone();
        let mounting = thread::spawn(move || client::mount(&place, options, |_, _| told.send(()).unwrap()));
        match ready.recv_timeout(PATIENCE) {
            Ok(()) => Ok(Mounted { at, status, who, mounting: Some(mounting) }),
            Err(_) => Err(mounting.join().unwrap().expect_err("a mount that is not ready")),
        }
    }
}

/// A server in this process, until it ends.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) status: PathBuf,
    pub(crate) notices: Sender<Notice>,
}

impl Served {
    /// Waits until a counter has reached this.
    pub(crate) fn counts(&self, name: &str, at_least: u64) {
        until(&format!("{name} reaches {at_least}"), || count(&self.status, name) >= at_least);
    }

    pub(crate) fn hears(&self, what: News) {
        self.notices.send(Notice { domain: domain(), what }).unwrap();
    }

    pub(crate) fn revokes(&self, item: Item) {
        self.hears(News::Revoked(vec![item]));
    }

    /// A TLS connection.
    pub(crate) fn tls(&self, config: Arc<ClientConfig>) -> StreamOwned<ClientConnection, TcpStream> {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let name = ServerName::from(self.address.ip());
        StreamOwned::new(ClientConnection::new(config, name).unwrap(), socket)
    }

    /// A connection of a person that can send anything.
    pub(crate) fn raw(&self, world: &World, person: &Person) -> Raw {
        let config = tls::client(&person.holder(), world.bundles.clone(), &SERVER.parse().unwrap()).unwrap();
        Raw::over(self.tls(Arc::new(config)))
    }

    /// Answer to a person who asks for a session.
    pub(crate) fn greets(&self, world: &World, person: &Person) -> (Raw, crate::support::Heard) {
        let mut raw = self.raw(world, person);
        let credentials = person.hello.write();
        let heard = raw.ask(&ClientRequest::Hello {
            class: ConnectionPurpose::Callback,
            session: 0,
            boot: 0,
            credentials: &credentials,
        });
        (raw, heard)
    }

    /// A session of a person: its callback connection, and one for questions.
    pub(crate) fn session(&self, world: &World, person: &Person) -> (Raw, Raw) {
        let (callback, heard) = self.greets(world, person);
        let crate::support::Heard::Welcome { boot, session } = heard else { panic!("{heard:?}") };
        let mut data = self.raw(world, person);
        data.ask(&ClientRequest::Hello { class: ConnectionPurpose::Data, session, boot, credentials: &[] });
        (callback, data)
    }
}

/// A mount in this process.
pub(crate) struct Mounted {
    pub(crate) at: PathBuf,
    pub(crate) status: PathBuf,
    /// The person who mounts.
    pub(crate) who: Arc<Mutex<Person>>,
    mounting: Option<thread::JoinHandle<Result<MountEnd, ClientError>>>,
}

impl Mounted {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.at.join(name)
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = umount2(&self.at, MntFlags::MNT_DETACH);
        // It ends when the last open file there is closed; the test does that later.
        drop(self.mounting.take());
    }
}

/// Error code of a refusal.
pub(crate) fn code<T>(result: std::io::Result<T>) -> Option<nix::errno::Errno> {
    Some(nix::errno::Errno::from_raw(result.err()?.raw_os_error()?))
}
