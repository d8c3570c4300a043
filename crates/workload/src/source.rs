//! Sources: requests in the form in which the load generator takes them.

use bakeoff_content::Body;
use bakeoff_units::Nanos;
use std::sync::Arc;

/// The methods of requests. Logs are replayed with the first two, which are safe (RFC 9110 section 9.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// The whole representation.
    #[default]
    Get,
    /// The header section alone.
    Head,
    /// A body is handed over; see [`Ask::body`]. HTTP/1.1 only.
    Post,
    /// The representation is replaced.
    Put,
    /// A part of it is changed.
    Patch,
    /// It is removed.
    Delete,
    /// The methods that it allows.
    Options,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Get, Self::Head, Self::Post, Self::Put, Self::Patch, Self::Delete, Self::Options];

    /// As it stands in the request line.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
        }
    }

    /// Whether asking twice has the same effect as asking once (RFC 9110 section 9.2.2).
    pub const fn is_idempotent(self) -> bool {
        !matches!(self, Self::Post | Self::Patch)
    }
}

/// The expected reply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Unknown beforehand: any status below 500, the length that the reply promises.
    #[default]
    Anything,
    /// Good, whatever its body: a status below 400.
    Good,
    /// 200 with exactly this body (for HEAD: with its length).
    Body(Body),
    /// A path that is also a directory: as `Body`, or a redirect to the name with a slash.
    BodyOrRedirect(Body),
    /// This status, whatever the body (404 for a path that never existed, 304).
    Status(u16),
    /// A status that means refused: the request is a planted violation.
    Refusal,
    /// 206 with the first `len` bytes of this body.
    FirstBytes {
        /// The whole representation.
        body: Body,
        /// Number of bytes asked for, at most the body's length.
        len: u64,
    },
    /// A request with a condition or a range, whose reply is judged elsewhere: 200 with this body, 206 with `len` bytes
    /// of it from `first` on, or 304.
    Selected {
        /// The whole representation.
        body: Body,
        /// The first byte asked for.
        first: u64,
        /// Number of bytes asked for; no more than there are from `first` on.
        len: u64,
    },
}

impl Expect {
    /// The statuses that are right for sure; `None`: any that is no failure of the server.
    pub const fn statuses(&self) -> Option<&[u16]> {
        match self {
            Self::Anything | Self::Good | Self::Refusal => None,
            Self::Body(_) | Self::BodyOrRedirect(_) => Some(&[200]),
            Self::Status(status) => Some(std::slice::from_ref(status)),
            Self::FirstBytes { .. } => Some(&[206]),
            Self::Selected { .. } => Some(&[200, 206, 304]),
        }
    }

    /// The requested object, if the request is for one.
    pub fn object(mut self) -> Option<Body> {
        self.object_mut().copied()
    }

    /// The same, to be replaced.
    pub const fn object_mut(&mut self) -> Option<&mut Body> {
        match self {
            Self::Body(body)
            | Self::BodyOrRedirect(body)
            | Self::FirstBytes { body, .. }
            | Self::Selected { body, .. } => Some(body),
            Self::Anything | Self::Good | Self::Status(_) | Self::Refusal => None,
        }
    }
}

/// A set of statuses, 100 to 599.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statuses([u64; 10]);

impl Statuses {
    /// Those of the list; others are no statuses.
    pub fn of(list: &[u16]) -> Self {
        let mut set = Self::default();
        for &status in list.iter().filter(|status| (100..600).contains(*status)) {
            set.0[usize::from(status) / 64] |= 1 << (status % 64);
        }
        set
    }

    /// Those of either.
    pub fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// Whether it is one of them.
    pub fn contains(&self, status: u16) -> bool {
        self.0.get(usize::from(status) / 64).is_some_and(|word| word & (1 << (status % 64)) != 0)
    }
}

/// One request as it is asked for. Borrowed: rendered into a connection's buffer at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ask<'a> {
    /// The method.
    pub method: Method,
    /// Request target in origin form, as it is sent: starts with `/`, no spaces or controls.
    pub target: &'a [u8],
    /// Further header lines, each ended by CRLF; mostly empty.
    pub headers: &'a [u8],
    /// The expected reply.
    pub expect: Expect,
    /// When in the workload's own time (the log's stamps): offset from the slice's first request,
    /// speed factor not applied. Zero where the workload has no time of its own.
    pub at: Nanos,
    /// The source's own mark of this request, passed back when it has ended; 0 where it is not used.
    pub ticket: u32,
    /// Open loop: the robot of this thread that asks, whose connections are kept apart where robots have their own. 0
    /// where there are none; in a closed loop the caller knows the robot.
    pub robot: u32,
    /// The body of the request, its length included (HTTP/1.1 only). It is copied: a few MB at most.
    pub body: Option<Body>,
    /// After so many bytes of the reply's body the connection is closed on purpose, and the request ends as
    /// cut off (HTTP/1.1 only).
    pub stop_after: Option<u64>,
}

/// Gives requests one by one, without I/O, allocation or locks. One per generator thread.
pub trait Source: Send {
    /// The next request of this robot (0 <= robot < robots of this thread), or `None` when it has
    /// no more. Open-loop runs have one robot, 0.
    fn next(&mut self, robot: usize) -> Option<Ask<'_>>;

    /// [`Ask::at`] of the request that [`Source::next`] would give, `None` when there is none. Open
    /// loops ask before the request is due.
    fn upcoming(&self, robot: usize) -> Option<Nanos>;
}

/// One distinct request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// GET or HEAD.
    pub method: Method,
    /// As in [`Ask::target`].
    pub target: Box<[u8]>,
    /// As in [`Ask::headers`].
    pub headers: Box<[u8]>,
    /// As in [`Ask::expect`].
    pub expect: Expect,
}

/// The distinct requests of a workload or of one slice; at most 2^32.
#[derive(Clone, Debug, Default)]
pub struct RequestTable {
    /// In the order of first appearance.
    pub requests: Vec<Request>,
}

/// The fixed work of one round: the same for every arm. Cheap to copy.
#[derive(Clone, Debug)]
pub struct Slice {
    /// The requests that the indices mean.
    pub table: Arc<RequestTable>,
    /// One list per robot; an open-loop slice has one list. Entries index `table`.
    pub lists: Arc<Vec<Vec<u32>>>,
    /// For the `original` clock: one offset per entry of list 0, not decreasing. Else empty.
    pub at: Arc<Vec<Nanos>>,
}

impl Slice {
    /// Number of requests.
    pub fn len(&self) -> usize {
        self.lists.iter().map(Vec::len).sum()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Closed loop: robot r goes to thread r % threads and is robot r / threads there.
    pub fn by_robot(&self, threads: usize) -> Vec<ListSource> {
        let threads = threads.max(1);
        let deal = |thread| (thread..self.lists.len()).step_by(threads);
        (0..threads)
            .map(|thread| {
                let cursors = deal(thread).map(|list| Cursor { list, next: 0, step: 1 }).collect();
                ListSource { slice: self.clone(), cursors }
            })
            .collect()
    }

    /// Open loop: request i of list 0 goes to thread i % threads.
    pub fn by_request(&self, threads: usize) -> Vec<ListSource> {
        let threads = threads.max(1);
        (0..threads)
            .map(|thread| {
                let cursors = vec![Cursor { list: 0, next: thread, step: threads }];
                ListSource { slice: self.clone(), cursors }
            })
            .collect()
    }
}

#[derive(Clone, Debug)]
struct Cursor {
    list: usize,
    next: usize,
    step: usize,
}

/// Walks the lists of a [`Slice`].
#[derive(Clone, Debug)]
pub struct ListSource {
    slice: Slice,
    cursors: Vec<Cursor>,
}

impl ListSource {
    /// Number of robots of the slice on this thread.
    pub fn robots(&self) -> usize {
        self.cursors.len()
    }
}

impl Source for ListSource {
    fn next(&mut self, robot: usize) -> Option<Ask<'_>> {
        let cursor = self.cursors.get_mut(robot)?;
        let position = cursor.next;
        let index = *self.slice.lists.get(cursor.list)?.get(position)?;
        cursor.next += cursor.step;
        let request = self.slice.table.requests.get(index as usize)?;
        Some(Ask {
            method: request.method,
            target: &request.target,
            headers: &request.headers,
            expect: request.expect,
            at: self.slice.at.get(position).copied().unwrap_or(Nanos::ZERO),
            ..Ask::default()
        })
    }

    fn upcoming(&self, robot: usize) -> Option<Nanos> {
        let cursor = self.cursors.get(robot)?;
        self.slice.lists.get(cursor.list)?.get(cursor.next)?;
        Some(self.slice.at.get(cursor.next).copied().unwrap_or(Nanos::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(lists: Vec<Vec<u32>>) -> Slice {
        let request = |name: u8| Request {
            method: Method::Get,
            target: Box::new([b'/', name]),
            headers: Box::default(),
            expect: Expect::Anything,
        };
        let requests = (b'a'..=b'z').map(request).collect();
        Slice { table: Arc::new(RequestTable { requests }), lists: Arc::new(lists), at: Arc::default() }
    }

    fn targets(source: &mut ListSource, robot: usize) -> Vec<u8> {
        std::iter::from_fn(|| source.next(robot).map(|ask| ask.target[1])).collect()
    }

    #[test]
    fn robots_are_dealt_to_threads_and_none_is_lost() {
        let slice = slice(vec![vec![0, 1], vec![2], vec![3, 4, 5]]);
        let mut sources = slice.by_robot(2);
        assert_eq!((sources[0].robots(), sources[1].robots()), (2, 1));
        assert_eq!(targets(&mut sources[0], 0), b"ab");
        assert_eq!(targets(&mut sources[1], 0), b"c");
        assert_eq!(targets(&mut sources[0], 1), b"def");
        assert_eq!(slice.len(), 6);
    }

    #[test]
    fn a_set_holds_its_statuses_and_no_others() {
        let set = Statuses::of(&[100, 403, 599, 600, 99, 7]);
        let held: Vec<u16> = (0..=u16::MAX).filter(|status| set.contains(*status)).collect();
        assert_eq!(held, [100, 403, 599]);
    }

    #[test]
    fn an_open_loop_list_is_dealt_request_by_request() {
        let slice = slice(vec![vec![0, 1, 2, 3, 4]]);
        let mut sources = slice.by_request(2);
        assert_eq!(targets(&mut sources[0], 0), b"ace");
        assert_eq!(targets(&mut sources[1], 0), b"bd");
        assert!(sources[0].next(0).is_none());
    }
}
