//! `bakeoff load`: one target, as one uses wrk2, vegeta or oha.

mod report;
mod room;
mod tls;
mod url;

use crate::args::LoadArgs;
use crate::exit::Exit;
use crate::terminal::{self, Console};
use crate::{Failure, signals};
use bakeoff_experiment::environment;
use bakeoff_loadgen::{
    BodyCheck, Constant, Engine, Lanes, LocalAddresses, Pace, Pacer, Protocol, Reuse, Share, Station,
    StationJob, Target,
};
use bakeoff_units::{Nanos, PerSecond};
use bakeoff_workload::{Ask, CycleSource, GetUrl, Method, Source, Statuses};
use report::{Report, text};
use rustls::pki_types::ServerName;
use std::net::ToSocketAddrs;
use std::sync::atomic::{AtomicBool, Ordering};
use url::{Url, host_and_headers};

/// Without `--duration` and `--requests`.
const DURATION: Nanos = Nanos::from_secs(10);

/// Loads the URL and prints what happened. 0 only if the run is valid and something was answered.
pub(crate) fn load(args: &LoadArgs) -> Result<Exit, Failure> {
    let url = Url::parse(&args.url)?;
    let target = target(args, &url)?;
    let interrupted = signals::interrupted();
    let size = Size::of(args, target.protocol.streams());
    room::descriptors(size.connections)?;
    if let Some(sentence) = room::ports(size.connections, &target)? {
        terminal::note(&sentence);
    }
    let engine = Engine {
        batching: !args.no_batching,
        profile: args.profile,
        connect_timeout: args.connect_timeout,
        ..Engine::default()
    };
    let mut station =
        Station::with(target, Lanes::all(size.threads), Vec::new(), engine).map_err(Failure::failed)?;
    let time_wait = room::time_wait();
    let cores = bakeoff_sys::affinity::allowed().map_err(Failure::failed)?;
    let claim = environment::claim("load", &cores);
    let job = job(args, &url, &size, &interrupted)?;
    let most = args.requests.map(|requests| format!("{requests} requests"));
    let ends: Vec<String> = job.until.map(|time| time.to_string()).into_iter().chain(most).collect();
    let mut timer = Console::timer("load", format!("{}, {}", args.url, ends.join(" or ")));
    let recording = station.run(job);
    timer.finish();
    let recording = recording.map_err(Failure::failed)?;
    let mut report = Report::of(&recording, args.rate);
    report.handshakes = recording.handshakes.summary(args.tls.resume.unwrap_or(Share::ALL));
    report.time_wait = time_wait.zip(room::time_wait());
    if args.json {
        terminal::say(&serde_json::to_string_pretty(&report).map_err(Failure::failed)?);
    } else {
        terminal::say(&text(&args.url, &report));
    }
    claim.others().iter().for_each(|other| terminal::note(&other.sentence));
    if interrupted.load(Ordering::Relaxed) {
        return Ok(Exit::Interrupted);
    }
    Ok(match (report.replies, report.valid) {
        (0, _) => Exit::Failed,
        (_, false) => Exit::Invalid,
        (_, true) => Exit::Verdicts,
    })
}

/// How many of what.
struct Size {
    connections: usize,
    /// In a closed loop.
    robots: usize,
    threads: usize,
}

impl Size {
    fn of(args: &LoadArgs, streams: usize) -> Self {
        let connections = args.connections.unwrap_or(if args.rate.is_some() { 1000 } else { 64 }) as usize;
        let robots = args.robots.map_or(connections * streams, |robots| robots as usize);
        // Robots that are fewer do not need all.
        let connections = if args.rate.is_some() { connections } else { connections.min(robots) };
        Self { connections, robots, threads: (args.threads as usize).min(connections) }
    }

    /// Robots of a thread.
    fn robots_of(&self, thread: usize) -> usize {
        self.robots / self.threads + usize::from(thread < self.robots % self.threads)
    }
}

fn job<'a>(
    args: &LoadArgs,
    url: &Url,
    size: &Size,
    interrupted: &'a AtomicBool,
) -> Result<StationJob<'a, Limited>, Failure> {
    let threads = size.threads;
    let paths = [GetUrl { expect: args.expect, ..GetUrl::of(url.path.clone()) }];
    let method = method(args)?;
    let source = |thread| {
        let cycle = CycleSource::new(&paths, 1, thread as u64).map_err(Failure::usage)?;
        Ok(Limited { cycle, method, left: share(args.requests, thread, threads) })
    };
    let think = args.think.unwrap_or(Nanos::ZERO);
    let pace = match args.rate {
        Some(rate) => Pace::Open { pacers: pacers(rate, threads), connections: size.connections },
        None => Pace::Closed { think, spread: think, connections: Some(size.connections) },
    };
    Ok(StationJob {
        sources: (0..threads).map(source).collect::<Result<_, Failure>>()?,
        robots: (0..threads).map(|thread| size.robots_of(thread)).collect(),
        pace,
        begins: None,
        timeout: args.timeout,
        until: args.duration.or(args.requests.is_none().then_some(DURATION)),
        check: BodyCheck::Start,
        refused: Statuses::default(),
        interrupted,
    })
}

fn method(args: &LoadArgs) -> Result<Method, Failure> {
    let Some(name) = &args.method else {
        return Ok(if args.data.is_some() { Method::Post } else { Method::Get });
    };
    let found = Method::ALL.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(name));
    found.ok_or_else(|| {
        let known = Method::ALL.map(Method::as_str).join(", ");
        Failure::usage(format!("--method {name}: is none of {known}"))
    })
}

/// What requests are sent with.
fn body(args: &LoadArgs) -> Result<Vec<u8>, Failure> {
    match args.data.as_deref().map(|data| (data, data.strip_prefix('@'))) {
        None => Ok(Vec::new()),
        Some((text, None)) => Ok(text.as_bytes().to_vec()),
        Some((_, Some(file))) => std::fs::read(file)
            .map_err(|why| Failure::usage(format!("--data @{file}: {why}; give a file that can be read"))),
    }
}

/// An endless source that ends after so many requests.
struct Limited {
    cycle: CycleSource,
    method: Method,
    left: Option<u64>,
}

impl Source for Limited {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1)?;
        }
        let method = self.method;
        self.cycle.next(robot).map(|ask| Ask { method, ..ask })
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        if self.left == Some(0) { None } else { self.cycle.upcoming(robot) }
    }
}

fn share(requests: Option<u64>, thread: usize, threads: usize) -> Option<u64> {
    let (requests, thread, threads) = (requests?, thread as u64, threads as u64);
    Some(requests / threads + u64::from(thread < requests % threads))
}

fn pacers(rate: PerSecond, threads: usize) -> Vec<Box<dyn Pacer>> {
    (0..threads).map(|worker| Box::new(Constant::new(rate, worker, threads)) as Box<dyn Pacer>).collect()
}

fn target(args: &LoadArgs, url: &Url) -> Result<Target, Failure> {
    let address = (url.host.as_str(), url.port)
        .to_socket_addrs()
        .map_err(|why| Failure::failed(format!("{}: {why}; check the host's name", url.host)))?
        .next()
        .ok_or_else(|| Failure::failed(format!("{}: has no address", url.host)))?;
    let tls = if url.tls {
        let settings = tls::settings(args)?;
        let name = ServerName::try_from(url.host.clone())
            .map_err(|why| Failure::usage(format!("{}: {why}", url.host)))?;
        Some((settings, name))
    } else {
        tls::none_wanted(&args.tls)?;
        None
    };
    let bracketed = if url.host.contains(':') { format!("[{}]", url.host) } else { url.host.clone() };
    let default_port = if url.tls { 443 } else { 80 };
    let host = if url.port == default_port { bracketed } else { format!("{bracketed}:{}", url.port) };
    let (own, headers) = host_and_headers(&args.headers)?;
    let reuse = match args.per_connection {
        Some(most) => Reuse::UpTo(most),
        None => Reuse::kept(!args.no_keepalive),
    };
    let protocol = if args.http2 { Protocol::Http2 { streams: args.streams } } else { Protocol::Http1 };
    Ok(Target {
        tls,
        reuse,
        protocol,
        from: LocalAddresses::of(&args.from),
        ports: args.ports,
        headers,
        body: body(args)?,
        ..Target::plain(address, own.unwrap_or(host))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_shared_without_loss() {
        for (requests, threads) in [(10, 3), (1, 4), (0, 2), (7, 7)] {
            let sum: u64 = (0..threads).filter_map(|t| share(Some(requests), t, threads)).sum();
            assert_eq!(sum, requests);
        }
    }

    #[test]
    fn robots_are_shared_without_loss() {
        for (robots, threads) in [(10, 3), (7, 7), (100_000, 2)] {
            let size = Size { connections: threads, robots, threads };
            assert_eq!((0..threads).map(|thread| size.robots_of(thread)).sum::<usize>(), robots);
        }
    }
}
