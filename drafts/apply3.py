import sys
root=sys.argv[1]+'/'
def sub(p,*prs):
    s=open(root+p).read()
    for a,b in prs:
        assert a in s,(p,a); s=s.replace(a,b)
    open(root+p,'w').write(s)
sub('mod.rs',
('''mod keyed;
mod squid;
mod stamp;
''','''mod keyed;
mod pattern;
mod squid;
mod stamp;
mod w3c;
'''),
('''pub use keyed::LogKeys;
pub use stamp::Stamp;
''','''pub use keyed::LogKeys;
pub use pattern::LogPattern;
pub use stamp::Stamp;
pub use w3c::LogFields;
'''),
('''    /// in milliseconds, is the end of the request; sizes include the reply's header section.
    Squid,
}
''','''    /// in milliseconds, is the end of the request; sizes include the reply's header section.
    Squid,
    /// The administrator's own, told in the words of nginx' `log_format`, from `nginx:$remote_addr ... "$request"`. Times
    /// are those of [`Format::NGINX_JSON`].
    Pattern(&'static LogPattern),
    /// W3C extended, told by the log's `#Fields:`, as IIS and CloudFront write it. The stamp is the end of the request;
    /// sizes include the reply's header section.
    W3c(&'static LogFields),
}
'''),
('''            Self::Squid => "squid",
        }
    }
''','''            Self::Squid => "squid",
            Self::Pattern(_) => "nginx",
            Self::W3c(_) => "w3c",
        }
    }

    /// Whether this line of a log names its fields, and if so whether they are those of this format.
    pub fn is_named_by(self, line: &[u8]) -> Option<bool> {
        match self {
            Self::W3c(fields) => fields.is_named_by(line),
            _ => None,
        }
    }
'''),
('''#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseFormatError(String);
''','''#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseFormatError {
    /// No name, and no map of keys.
    Unknown(String),
    /// A `log_format` that cannot be read back.
    Pattern {
        /// As it was given.
        text: String,
        /// The fault, and what to write.
        why: String,
    },
}
'''),
('''        let known = Format::ALL.map(Format::as_str).join(", ");
        write!(
            f,
            "`{}` is no log format; known are {known}, and JSON with keys of its own as in \\
             json:path=request.uri,method=request.method,status=status,size=size,time=ts",
            self.0
        )
''','''        match self {
            Self::Unknown(text) => {
                let known = Format::ALL.map(Format::as_str).join(", ");
                write!(
                    f,
                    "`{text}` is no log format; known are {known}, JSON with keys of its own as in \\
                     json:path=request.uri,method=request.method,status=status,size=size,time=ts, and any text described as \\
                     nginx' log_format does, {PATTERN}"
                )
            }
            Self::Pattern { text, why } => {
                write!(f, "`{text}` cannot be read back: {why}; such as {PATTERN}")
            }
        }
'''),
('''impl FromStr for Format {''','''/// A format that describes lines, for messages.
const PATTERN: &str = r#"nginx:$remote_addr [$time_local] "$request" $status $body_bytes_sent"#;

impl FromStr for Format {'''),
('''        let named = match''','''        if let Some(pattern) = text.strip_prefix("nginx:") {
            let wrong = |why| ParseFormatError::Pattern { text: text.to_owned(), why };
            return LogPattern::of_text(pattern).map(Self::Pattern).map_err(wrong);
        }
        let named = match'''),
('''named.ok_or_else(|| ParseFormatError(text.to_owned()))''','''named.ok_or_else(|| ParseFormatError::Unknown(text.to_owned()))'''),
('''    pub target: &'a [u8],
''','''    pub target: &'a [u8],
    /// The query, where the log has it apart from the target: without the `?`, not escaped.
    pub query: Option<&'a [u8]>,
'''),
('''    TooFewFields,
}
''','''    TooFewFields,
    /// Behind a `#Fields:` that is not that of the log's beginning.
    OtherFields,
}
'''),
('''            Self::TooFewFields => "too-few-fields",
''','''            Self::TooFewFields => "too-few-fields",
            Self::OtherFields => "other-fields",
'''),
('''        Format::Squid => squid::parse(line),
''','''        Format::Squid => squid::parse(line),
        Format::Pattern(pattern) => pattern::parse(pattern, line),
        Format::W3c(fields) => w3c::parse(fields, line),
'''),
)
sub('detect.rs',
('use super::{Format, apache, json, parse, squid};','use super::{Format, LogFields, apache, json, parse, squid};'),
('''        if self.first.starts_with('{') {
            f.write_str(
                "; of JSON say which keys tell what: json:path=KEY,method=KEY,status=KEY,size=KEY,time=KEY",
            )?;
        }
        Ok(())
''','''        f.write_str(match self.first.as_bytes().first() {
            Some(b'{') => {
                "; of JSON say which keys tell what: json:path=KEY,method=KEY,status=KEY,size=KEY,time=KEY"
            }
            Some(b'#') => "; a W3C log needs cs-uri-stem and sc-status in its `#Fields:`",
            _ => {
                "; other lines are described as nginx' log_format does, --format 'nginx:$remote_addr [$time_local] \\
                 \\"$request\\" $status $body_bytes_sent'"
            }
        })
'''),
('''    let mut votes =''','''    let lines: Vec<&[u8]> = lines.into_iter().collect();
    if let Some(fields) = lines.iter().find_map(|line| LogFields::of_header(line)) {
        return Ok(Format::W3c(fields));
    }
    let mut votes ='''),
('''        assert!(refused.to_string().ends_with("the first is `hello`"), "{refused}");
''','''        let said = refused.to_string();
        assert!(said.contains("the first is `hello`") && said.contains("--format 'nginx:$remote_addr"), "{said}");
'''),
)
sub('keyed.rs',
('enum Key {','pub(super) enum Key {'),
('''    of: &'static [(&'static [u8], Key)],
}''','''    pub(super) of: &'static [(&'static [u8], Key)],
}'''),
('type Found<','pub(super) type Found<'),
("fn entry<'a>(keys: &LogKeys, found","pub(super) fn entry<'a>(keys: &LogKeys, found"),
('LogEntry { at, method, target, escaped, status, bytes, vhost: text(Key::Vhost) }','LogEntry { at, method, target, query: None, escaped, status, bytes, vhost: text(Key::Vhost) }'),
)
sub('squid.rs',('method, target, escaped: false','method, target, query: None, escaped: false'))
sub('apache.rs',('let entry = LogEntry { at, method, target, escaped','let entry = LogEntry { at, method, target, query: None, escaped'))
