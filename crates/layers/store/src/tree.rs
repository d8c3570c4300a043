//! Tree of a vault: its nodes in memory, and their encoding.
//!
//! Measured side; look-ups are warm, the parser is cold. The bytes are parsed only after their tag was right, and
//! still nothing in them is trusted: a malicious holder of the store key may have made them.
//!
//! The order carries the structure. Nodes stand breadth first, children of a directory together and
//! sorted by name; so a directory needs only the number of its children, a file only its size, and
//! there is no offset that could point into another file. A node is
//!
//! ```text
//! kind u8 | mode u16 | uid u32 | gid u32 | mtime s i64 | mtime ns u32 | size u64 | name u16 + bytes
//! ```
//!
//! little-endian; `size` is a file's bytes, a directory's children, a link's target bytes, and a
//! link's target follows its name. Before the nodes stands their number, a u32. Memory is about 70
//! bytes a file and its name.

use crate::layout::BlockSize;
use thiserror::Error;

/// Longest name that the kernel accepts.
const MAX_NAME_BYTES: usize = 255;
/// Longest target of a link that the kernel accepts.
const MAX_TARGET_BYTES: u64 = 4095;
/// A node without its name.
const FIXED_BYTES: usize = 33;

/// Number of a node in its tree; 0 is the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The directory that was sealed.
    pub const ROOT: Self = Self(0);
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// Attributes of a node, as `stat` reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// Permission bits, with set-user-id, set-group-id and sticky.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change, whole seconds since 1970.
    pub mtime_s: i64,
    /// Nanoseconds in the second.
    pub mtime_ns: u32,
    /// Bytes of a file, children of a directory, bytes of a link's target.
    pub size: u64,
    /// Start of a file's bytes in the stream; number of the first child of a directory; start of a link's target
    /// among the texts.
    at: u64,
    parent: u32,
    name_at: u32,
    name_bytes: u16,
}

/// A whole tree. Never changes once it is made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Node>,
    /// Names and targets, one behind the other.
    texts: Vec<u8>,
    data_bytes: u64,
}

/// Reasons why bytes are no tree.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TreeError {
    /// The bytes end within a node, or more nodes are announced than can follow.
    #[error("the list of files is cut short")]
    CutShort,
    /// Bytes behind the last node.
    #[error("the list of files has bytes behind its end")]
    TrailingData,
    /// An invalid kind, mode or time.
    #[error("a file has a kind, mode or time that there is not")]
    BadField,
    /// An empty name, `.`, `..`, or one with `/` or a zero byte.
    #[error("a file has a name that there cannot be")]
    BadName,
    /// Names of a directory that are not sorted, or a duplicate.
    #[error("names are not in order, or one stands twice")]
    Unordered,
    /// Directories with more or fewer children than there are nodes; a root that is no directory.
    #[error("directories and files do not add up to a tree")]
    NoTree,
    /// Files that do not end at the position in the header, or exceed what can be counted.
    #[error("the sizes of the files do not add up to what the header says")]
    WrongTotal,
    /// A link without a target, or with too long a one.
    #[error("a link has a target that there cannot be")]
    BadTarget,
}

/// A node as it is found on disk, before it has a place in a vault.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) kind: NodeKind,
    pub(crate) mode: u16,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) mtime_s: i64,
    pub(crate) mtime_ns: u32,
    pub(crate) size: u64,
    pub(crate) name: Vec<u8>,
    pub(crate) target: Vec<u8>,
}

impl Tree {
    /// The node with this number, or `None`.
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0 as usize)
    }

    /// Number of nodes: files, directories and links.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is not even a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes in the vault's order.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(at, node)| (NodeId(at as u32), node))
    }

    /// Bytes of all files together.
    pub fn data_bytes(&self) -> u64 {
        self.data_bytes
    }

    /// A node's name; empty for the root.
    pub fn name(&self, node: &Node) -> &[u8] {
        self.text(u64::from(node.name_at), u64::from(node.name_bytes))
    }

    /// A link's target; empty for anything else.
    pub fn target(&self, node: &Node) -> &[u8] {
        match node.kind {
            NodeKind::Link => self.text(node.at, node.size),
            _ => &[],
        }
    }

    /// The parent of a node; the root is its own.
    pub fn parent(&self, node: &Node) -> NodeId {
        NodeId(node.parent)
    }

    /// The children of a directory in the order of their names; empty for anything else.
    pub fn children(&self, node: &Node) -> impl Iterator<Item = (NodeId, &Node)> {
        let first = self.first_child(node);
        let list = self.child_slice(node);
        list.iter().enumerate().map(move |(at, child)| (NodeId((first + at) as u32), child))
    }

    /// The child of this name.
    pub fn child(&self, parent: &Node, name: &[u8]) -> Option<NodeId> {
        let at = self.child_slice(parent).binary_search_by(|child| self.name(child).cmp(name)).ok()?;
        Some(NodeId((self.first_child(parent) + at) as u32))
    }

    /// Start of a file's bytes in the stream; `None` for other kinds.
    pub fn data_at(&self, node: &Node) -> Option<u64> {
        (node.kind == NodeKind::File).then_some(node.at)
    }

    /// The node's path below the root, for messages.
    pub fn path(&self, id: NodeId) -> String {
        let mut parts = Vec::new();
        let mut at = id;
        while let Some(node) = self.node(at).filter(|_| at != NodeId::ROOT) {
            parts.push(String::from_utf8_lossy(self.name(node)).into_owned());
            at = self.parent(node);
        }
        parts.reverse();
        parts.join("/")
    }

    /// The files whose bytes lie within a stretch of the stream.
    pub fn files_within(&self, from: u64, to: u64) -> impl Iterator<Item = NodeId> {
        let touches =
            move |node: &Node| node.kind == NodeKind::File && node.at < to && node.at + node.size > from;
        self.nodes().filter(move |(_, node)| touches(node)).map(|(id, _)| id)
    }

    fn first_child(&self, node: &Node) -> usize {
        usize::try_from(node.at).unwrap_or(usize::MAX)
    }

    fn child_slice(&self, node: &Node) -> &[Node] {
        let count = usize::try_from(node.size).unwrap_or(usize::MAX);
        let first = self.first_child(node);
        let range = first..first.saturating_add(count);
        if node.kind == NodeKind::Directory { self.nodes.get(range).unwrap_or_default() } else { &[] }
    }

    fn text(&self, at: u64, bytes: u64) -> &[u8] {
        let (Ok(at), Ok(bytes)) = (usize::try_from(at), usize::try_from(bytes)) else { return &[] };
        self.texts.get(at..at.saturating_add(bytes)).unwrap_or_default()
    }
}

/// The bytes of nodes that stand breadth first, children together and sorted.
pub(crate) fn encode(found: &[Found]) -> Vec<u8> {
    let mut out = Vec::with_capacity(found.len() * (FIXED_BYTES + 24));
    out.extend_from_slice(&(found.len() as u32).to_le_bytes());
    for node in found {
        out.push(match node.kind {
            NodeKind::File => 0,
            NodeKind::Directory => 1,
            NodeKind::Link => 2,
        });
        out.extend_from_slice(&node.mode.to_le_bytes());
        out.extend_from_slice(&node.uid.to_le_bytes());
        out.extend_from_slice(&node.gid.to_le_bytes());
        out.extend_from_slice(&node.mtime_s.to_le_bytes());
        out.extend_from_slice(&node.mtime_ns.to_le_bytes());
        out.extend_from_slice(&node.size.to_le_bytes());
        out.extend_from_slice(&(node.name.len() as u16).to_le_bytes());
        out.extend_from_slice(&node.name);
        out.extend_from_slice(&node.target);
    }
    out
}

impl Tree {
    /// Reads a tree. `block` determines where files begin in the stream, and `stream_bytes` is their end according to
    /// the header.
    ///
    /// # Errors
    /// The first fault.
    pub fn decode(bytes: &[u8], block: BlockSize, stream_bytes: u64) -> Result<Self, TreeError> {
        let mut reader = Reader { rest: bytes };
        let count = u32::from_le_bytes(reader.take()?) as usize;
        if count > reader.rest.len() / FIXED_BYTES {
            return Err(TreeError::CutShort);
        }
        let mut tree = Self { nodes: Vec::with_capacity(count), texts: Vec::new(), data_bytes: 0 };
        let mut places = Places { next_child: 1, next_byte: 0, total: count as u64, block };
        for at in 0..count {
            let node = reader.node(&mut tree.texts, at == 0, &mut places)?;
            if node.kind == NodeKind::File {
                tree.data_bytes = tree.data_bytes.saturating_add(node.size);
            }
            tree.nodes.push(node);
        }
        if !reader.rest.is_empty() {
            return Err(TreeError::TrailingData);
        }
        if places.next_child != count as u64 {
            return Err(TreeError::NoTree);
        }
        if places.next_byte != stream_bytes {
            return Err(TreeError::WrongTotal);
        }
        tree.adopt()?;
        Ok(tree)
    }

    /// Sets the parents of children, and checks that names are sorted.
    fn adopt(&mut self) -> Result<(), TreeError> {
        for parent in 0..self.nodes.len() {
            let Some(node) = self.nodes.get(parent).copied() else { continue };
            let list = self.child_slice(&node);
            let mut pairs = list.iter().zip(list.iter().skip(1));
            if pairs.any(|(one, next)| self.name(one) >= self.name(next)) {
                return Err(TreeError::Unordered);
            }
            let first = self.first_child(&node);
            // Children come behind their parent, or a directory could be its own ancestor.
            if !list.is_empty() && first <= parent {
                return Err(TreeError::NoTree);
            }
            let range = first..first.saturating_add(list.len());
            for child in self.nodes.get_mut(range).unwrap_or_default() {
                child.parent = parent as u32;
            }
        }
        Ok(())
    }
}

/// Positions of the next child and the next byte of data.
struct Places {
    next_child: u64,
    next_byte: u64,
    total: u64,
    block: BlockSize,
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], TreeError> {
        let (field, rest) = self.rest.split_first_chunk().ok_or(TreeError::CutShort)?;
        self.rest = rest;
        Ok(*field)
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], TreeError> {
        let (text, rest) = self.rest.split_at_checked(length).ok_or(TreeError::CutShort)?;
        self.rest = rest;
        Ok(text)
    }

    fn node(&mut self, texts: &mut Vec<u8>, root: bool, places: &mut Places) -> Result<Node, TreeError> {
        let kind = match self.take::<1>()? {
            [0] => NodeKind::File,
            [1] => NodeKind::Directory,
            [2] => NodeKind::Link,
            _ => return Err(TreeError::BadField),
        };
        let mode = u16::from_le_bytes(self.take()?);
        let uid = u32::from_le_bytes(self.take()?);
        let gid = u32::from_le_bytes(self.take()?);
        let mtime_s = i64::from_le_bytes(self.take()?);
        let mtime_ns = u32::from_le_bytes(self.take()?);
        let size = u64::from_le_bytes(self.take()?);
        if mode > 0o7777 || mtime_ns >= 1_000_000_000 {
            return Err(TreeError::BadField);
        }
        let name_bytes = u16::from_le_bytes(self.take()?);
        let name = self.bytes(usize::from(name_bytes))?;
        match root {
            true if kind != NodeKind::Directory => return Err(TreeError::NoTree),
            true if !name.is_empty() => return Err(TreeError::BadName),
            false if !is_name(name) => return Err(TreeError::BadName),
            _ => {}
        }
        let name_at = u32::try_from(texts.len()).map_err(|_| TreeError::WrongTotal)?;
        texts.extend_from_slice(name);
        let at = self.place(kind, size, texts, places)?;
        Ok(Node { kind, mode, uid, gid, mtime_s, mtime_ns, size, at, parent: 0, name_at, name_bytes })
    }

    fn place(
        &mut self,
        kind: NodeKind,
        size: u64,
        texts: &mut Vec<u8>,
        places: &mut Places,
    ) -> Result<u64, TreeError> {
        Ok(match kind {
            NodeKind::File => {
                let at = places.block.place(places.next_byte, size).ok_or(TreeError::WrongTotal)?;
                places.next_byte = at + size;
                at
            }
            NodeKind::Directory => {
                let end = places.next_child.checked_add(size).ok_or(TreeError::NoTree)?;
                if end > places.total {
                    return Err(TreeError::NoTree);
                }
                std::mem::replace(&mut places.next_child, end)
            }
            NodeKind::Link => {
                if size == 0 || size > MAX_TARGET_BYTES {
                    return Err(TreeError::BadTarget);
                }
                let target = self.bytes(size as usize)?;
                if target.contains(&0) {
                    return Err(TreeError::BadTarget);
                }
                let at = texts.len() as u64;
                texts.extend_from_slice(target);
                at
            }
        })
    }
}

fn is_name(name: &[u8]) -> bool {
    let special = matches!(name, b"" | b"." | b"..");
    !special && name.len() <= MAX_NAME_BYTES && !name.iter().any(|byte| matches!(byte, b'/' | 0))
}
