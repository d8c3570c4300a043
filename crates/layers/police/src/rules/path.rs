//! Unambiguous paths, and patterns of them.
//!
//! Measured side, pure, fed by strangers and by the file.

/// Reason why a path, without its query, is not plain, if so: some server would read it as another one.
pub fn not_plain(path: &[u8]) -> Option<&'static str> {
    let mut parts = path.split(|byte| *byte == b'/').skip(1).peekable();
    if !path.starts_with(b"/") {
        Some("does not begin with `/`")
    } else if path.iter().any(|byte| !byte.is_ascii_graphic()) {
        Some("holds a space, or what is no printable ASCII character")
    } else if path.contains(&b'%') {
        Some("holds `%`")
    } else if path.iter().any(|byte| b"\\#;".contains(byte)) {
        Some("holds `\\`, `#` or `;`")
    } else if std::iter::from_fn(|| Some((parts.next()?, parts.peek().is_some())))
        .any(|(part, more)| (part.is_empty() && more) || part == b"." || part == b"..")
    {
        Some("holds `//`, or `.` or `..` as a part")
    } else {
        None
    }
}

/// Pattern of a rule's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// This path.
    Exact(Vec<u8>),
    /// All paths with this prefix; the last byte is `/`.
    Prefix(Vec<u8>),
    /// All paths that contain this.
    Contains(Vec<u8>),
}

impl Pattern {
    /// Reads `/x`, `/x/*` or `*x*`; `None` if `*` stands elsewhere.
    pub(super) fn of(text: &str) -> Option<Self> {
        let part = |text: &str| (!text.is_empty() && !text.contains('*')).then(|| text.as_bytes().to_vec());
        if let Some(begin) =
            text.strip_suffix('*').filter(|begin| begin.ends_with('/') && !begin.starts_with('*'))
        {
            return part(begin).map(Self::Prefix);
        }
        match text.strip_prefix('*').and_then(|text| text.strip_suffix('*')) {
            Some(inner) => part(inner).map(Self::Contains),
            None => (!text.contains('*')).then(|| Self::Exact(text.as_bytes().to_vec())),
        }
    }

    /// Its bytes, without `*`.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Exact(bytes) | Self::Prefix(bytes) | Self::Contains(bytes) => bytes,
        }
    }

    /// Reason why no plain path can match, if so.
    pub(super) fn never(&self) -> Option<&'static str> {
        match self {
            _ if self.bytes().contains(&b'?') => {
                Some("holds `?`, and paths are compared without their query")
            }
            Self::Exact(path) | Self::Prefix(path) => not_plain(path),
            // In plain surroundings.
            Self::Contains(part) => not_plain(&[b"/x", part.as_slice(), b"x"].concat()),
        }
    }
}
