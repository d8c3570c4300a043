//! Body of a request: its end matters, and of an upload a sum over its bytes.
//!
//! Hot, reads untrusted input.

use bakeoff_wire::http1::{RequestError, RequestHead, UnreadChunks};
use bakeoff_wire::stamp::Upload;

/// The rest of a body.
#[derive(Debug)]
pub(crate) enum Unread {
    /// Nothing: the next byte begins a request.
    Nothing,
    /// A number of bytes, at least one.
    Bytes(u64),
    /// Chunks.
    Chunks(UnreadChunks),
}

impl Unread {
    /// The body behind this head.
    pub(crate) const fn behind(head: &RequestHead<'_>) -> Self {
        match head.body_bytes {
            _ if head.chunked => Self::Chunks(UnreadChunks::new()),
            0 => Self::Nothing,
            bytes => Self::Bytes(bytes),
        }
    }

    /// Whether the request is complete.
    pub(crate) const fn is_over(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Number of these bytes that belong to the body, which are taken into the sum if there is one.
    ///
    /// # Errors
    ///
    /// When they are no chunks: the start of the next request cannot be known any more.
    pub(crate) fn pass_over(
        &mut self,
        bytes: &[u8],
        mut upload: Option<&mut Upload>,
    ) -> Result<usize, RequestError> {
        let mut content = |more: &[u8]| {
            if let Some(upload) = &mut upload {
                upload.take(more);
            }
        };
        let (passed, over) = match self {
            Self::Nothing => return Ok(0),
            Self::Bytes(left) => {
                let passed = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= passed as u64;
                content(&bytes[..passed]);
                (passed, *left == 0)
            }
            Self::Chunks(chunks) => chunks.pass_over(bytes, content)?,
        };
        if over {
            *self = Self::Nothing;
        }
        Ok(passed)
    }
}
