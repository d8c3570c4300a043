//! A user's command as a server: any program that serves HTTP, started as written, without a shell.
//!
//! It runs as bakeoff does, in the plan's directory (so that relative arguments mean what they mean in the plan), and
//! must listen on `{host}:{port}`.

use crate::SubjectError;
use crate::program::{Recipe, StartSite, Subject};

pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) ready: Option<String>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) tls: bool,
}

impl Subject for Program {
    fn tls(&self) -> bool {
        self.tls
    }

    fn environment(&self, place: &StartSite<'_>) -> Result<Vec<(String, String)>, SubjectError> {
        let put_in = place.substitutions();
        let wrong = |source| SubjectError::Config { arm: place.arm(), origin: "env".to_owned(), source };
        let value = |(name, value): &(String, String)| Ok((name.clone(), put_in.word(value).map_err(wrong)?));
        self.env.iter().map(value).collect()
    }

    fn recipe(&self, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
        let argv = place.command(&self.argv, "command")?;
        Ok(Recipe { argv, cwd: place.cwd(), ready: self.ready.clone(), ..Recipe::default() })
    }
}
