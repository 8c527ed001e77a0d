//! Reads a page with a browser's tokenizer.

use std::cell::RefCell;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer};

/// Elements that have no end.
const VOID: [&str; 3] = ["input", "link", "meta"];

/// A page in parts.
#[derive(Default)]
pub(super) struct Parsed {
    /// What is no HTML, and tags that do not match.
    pub(super) errors: Vec<String>,
    pub(super) ids: Vec<String>,
    /// All that `href` says.
    pub(super) links: Vec<String>,
    /// Names of all attributes.
    pub(super) attributes: Vec<String>,
    /// All text, that of scripts and styles apart.
    pub(super) text: String,
    elements: Vec<String>,
    open: Vec<String>,
}

impl Parsed {
    pub(super) fn of(page: &str) -> Self {
        let input = BufferQueue::default();
        input.push_back(page.into());
        let tokenizer = Tokenizer::new(
            Sink::default(),
            html5ever::tokenizer::TokenizerOpts { exact_errors: true, ..Default::default() },
        );
        _ = tokenizer.feed(&input);
        tokenizer.end();
        let mut parsed = tokenizer.sink.0.into_inner();
        let open: Vec<_> = parsed.open.iter().map(|name| format!("{name} is not closed")).collect();
        parsed.errors.extend(open);
        parsed
    }

    /// How many there are.
    pub(super) fn elements(&self, name: &str) -> usize {
        self.elements.iter().filter(|element| *element == name).count()
    }

    fn start(&mut self, tag: &Tag) -> TokenSinkResult<()> {
        let name = tag.name.to_string();
        for attribute in &tag.attrs {
            self.attributes.push(attribute.name.local.to_string());
            match &*attribute.name.local {
                "id" => self.ids.push(attribute.value.to_string()),
                "href" => self.links.push(attribute.value.to_string()),
                _ => {}
            }
        }
        let raw = match name.as_str() {
            "script" => Some(RawKind::ScriptData),
            "style" => Some(RawKind::Rawtext),
            "title" if !self.open.contains(&"svg".into()) => Some(RawKind::Rcdata),
            _ => None,
        };
        self.elements.push(name.clone());
        if !VOID.contains(&name.as_str()) {
            self.open.push(name);
        }
        raw.map_or(TokenSinkResult::Continue, TokenSinkResult::RawData)
    }

    fn end(&mut self, tag: &Tag) {
        let name = tag.name.to_string();
        match self.open.pop() {
            Some(open) if open == name => {}
            open => self.errors.push(format!("{name} closes {open:?}")),
        }
    }
}

#[derive(Default)]
struct Sink(RefCell<Parsed>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        let mut parsed = self.0.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return parsed.start(&tag),
            Token::TagToken(tag) => parsed.end(&tag),
            Token::CharacterTokens(text) => {
                if !parsed.open.last().is_some_and(|name| name == "script" || name == "style") {
                    parsed.text.push_str(&text);
                }
            }
            Token::ParseError(error) => parsed.errors.push(format!("line {line}: {error}")),
            Token::NullCharacterToken => parsed.errors.push(format!("line {line}: U+0000")),
            Token::CommentToken(text) => parsed.errors.push(format!("line {line}: a comment: {text}")),
            Token::DoctypeToken(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}
