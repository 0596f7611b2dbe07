//! What every provider's client is configured with, checked before anything is sent.
//!
//! A wrong value is an error that names the field and the bound, and never shows a secret or an address.

use super::Secret;
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use std::time::Duration;

/// Longest wait that may be configured.
const LONGEST_WAIT: Duration = Duration::from_hours(24);
/// Most tokens that may be asked for.
const MOST_TOKENS: u32 = 10_000_000;
/// Headers that belong to the transport.
const RESERVED: [&str; 8] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("model configuration: `{field}` {message}")]
pub struct ModelConfigError {
    /// The field.
    pub field: &'static str,
    /// What is wrong with it. Holds no secret.
    pub message: String,
}

impl ModelConfigError {
    pub(super) fn new(field: &'static str, message: impl Into<String>) -> Self {
        Self {
            field,
            message: message.into(),
        }
    }
}

/// How long a client waits. Each is 1 ms to 24 hours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection: 15 seconds.
    pub connect: Duration,
    /// For the head of the answer, from the moment the request starts: 120 seconds.
    pub headers: Duration,
    /// For the next piece of the answer: 300 seconds.
    pub idle: Duration,
    /// For all pieces of an answer together: 1 hour. The time in which nobody takes events does not count.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(15),
            headers: Duration::from_secs(120),
            idle: Duration::from_secs(300),
            total: Duration::from_hours(1),
        }
    }
}

impl Timeouts {
    pub(super) fn check(&self) -> Result<(), ModelConfigError> {
        for (field, wait) in [
            ("timeouts.connect", self.connect),
            ("timeouts.headers", self.headers),
            ("timeouts.idle", self.idle),
            ("timeouts.total", self.total),
        ] {
            if wait < Duration::from_millis(1) || wait > LONGEST_WAIT {
                return Err(ModelConfigError::new(field, "must be 1 ms to 24 hours"));
            }
        }
        Ok(())
    }
}

/// Whether requests go through a proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyChoice {
    /// They do not, whatever the environment says.
    #[default]
    Direct,
    /// As `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment say.
    Environment,
    /// Through this one: `http://` or `https://`, with name and password where it wants them.
    Through(Secret),
}

impl ProxyChoice {
    pub(super) fn url(&self) -> Result<Option<Url>, ModelConfigError> {
        let Self::Through(address) = self else {
            return Ok(None);
        };
        let url = http_url("proxy", address.expose())?;
        Ok(Some(url))
    }
}

/// How much a model is to think before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningEffort {
    /// Not at all.
    None,
    /// Hardly.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// More.
    XHigh,
    /// As much as it can.
    Max,
}

/// An absolute address of http or https, with a host and without name and password of its own.
pub(super) fn base_url(text: &str) -> Result<Url, ModelConfigError> {
    let url = http_url("base_url", text)?;
    if !url.username().is_empty() || url.password().is_some() {
        let message = "must hold no name and password: give them as a header";
        return Err(ModelConfigError::new("base_url", message));
    }
    if url.fragment().is_some() {
        return Err(ModelConfigError::new("base_url", "must have no fragment"));
    }
    Ok(url)
}

fn http_url(field: &'static str, text: &str) -> Result<Url, ModelConfigError> {
    let wrong = || {
        let message = "must be an absolute address that starts with http:// or https://";
        ModelConfigError::new(field, message)
    };
    let url = Url::parse(text.trim()).map_err(|_| wrong())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(wrong());
    }
    Ok(url)
}

/// What of an address may be shown: paths and queries of gateways hold keys too.
pub(super) fn origin(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{}://{host}:{port}", url.scheme()),
        None => format!("{}://{host}", url.scheme()),
    }
}

/// The same of an address as it was configured, which may be none.
pub(super) fn shown(base_url: Option<&String>) -> Option<String> {
    base_url.map(|text| {
        Url::parse(text).map_or_else(|_| "not an address".to_owned(), |url| origin(&url))
    })
}

pub(super) fn model(name: &str) -> Result<(), ModelConfigError> {
    if name.trim().is_empty() || name.len() > 256 || name.chars().any(char::is_control) {
        let message = "must have 1 to 256 bytes and no control characters";
        return Err(ModelConfigError::new("model", message));
    }
    Ok(())
}

pub(super) fn max_tokens(tokens: Option<u32>) -> Result<(), ModelConfigError> {
    if tokens.is_some_and(|tokens| !(1..=MOST_TOKENS).contains(&tokens)) {
        let message = format!("must be 1 to {MOST_TOKENS}");
        return Err(ModelConfigError::new("max_tokens", message));
    }
    Ok(())
}

pub(super) fn temperature(value: Option<f32>, highest: f32) -> Result<(), ModelConfigError> {
    if value.is_some_and(|value| !(0.0..=highest).contains(&value)) {
        let message = format!("must be 0 to {highest} for this provider");
        return Err(ModelConfigError::new("temperature", message));
    }
    Ok(())
}

/// The headers of every request. The key goes into `(name, prefix)` unless the configuration sets that header itself.
pub(super) fn headers(
    own: &[(&'static str, &'static str)],
    configured: &[(String, Secret)],
    key: Option<(&Secret, &'static str, &'static str)>,
) -> Result<HeaderMap, ModelConfigError> {
    let mut headers = HeaderMap::new();
    for (name, value) in own {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    if let Some((key, name, prefix)) = key {
        let message = "must have 1 to 8192 visible ASCII characters and no white space around them";
        let wrong = || ModelConfigError::new("api_key", message);
        let text = key.expose();
        if text.is_empty() || text.len() > 8192 || !text.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(wrong());
        }
        headers.insert(
            name,
            sensitive(&format!("{prefix}{text}")).ok_or_else(wrong)?,
        );
    }
    for (name, value) in configured {
        let wrong = |message: &str| {
            // Only a name that is one is shown: a value may have been put in its place.
            let shown: String = name.chars().take(64).collect();
            let named = HeaderName::from_bytes(name.as_bytes()).is_ok();
            let which = if named {
                format!("`{shown}` ")
            } else {
                String::new()
            };
            ModelConfigError::new("headers", format!("{which}{message}"))
        };
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| wrong("holds a name that no header may have"))?;
        if RESERVED.contains(&header.as_str()) {
            return Err(wrong("belongs to the transport and cannot be set"));
        }
        let value = sensitive(value.expose())
            .ok_or_else(|| wrong("has a value that no header may have"))?;
        headers.insert(header, value);
    }
    Ok(headers)
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A key must be there for the provider's own address, whose every request would fail without one.
pub(super) fn key_for_default(
    base_url: Option<&String>,
    key: Option<&Secret>,
    headers: &[(String, Secret)],
    header: &str,
) -> Result<(), ModelConfigError> {
    let given = key.is_some()
        || headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case(header));
    if base_url.is_none() && !given {
        let message = "is missing: the provider's own address takes no request without one";
        return Err(ModelConfigError::new("api_key", message));
    }
    Ok(())
}
