//! Anthropic's Messages interface, version 2023-06-01, and servers that speak it.
//!
//! A stream of blocks: text, thoughts, calls whose arguments come in pieces. Thoughts of an answer with calls are
//! signed and must go back with the results; they are kept beside the transcript, by the id of the first call.

mod answer;
mod request;

use super::config::{self, ModelConfigError, ProxyChoice, ReasoningEffort, Timeouts};
use super::http::{HttpClient, HttpSettings};
use super::memo::Memo;
use super::{
    LlmClient, LlmError, LlmEvents, LlmRequest, LlmResponse, Secret, StructuredSupport, stream,
};
pub(super) use request::number;

use answer::Answer;
use async_trait::async_trait;
use reqwest::Url;

/// Address of the provider.
const DEFAULT_BASE: &str = "https://api.anthropic.com";
/// Tokens of an answer when nothing is configured; the interface demands a number.
const DEFAULT_MAX_TOKENS: u32 = 8192;
/// Tokens of an answer when the model is to think and nothing is configured.
const THINKING_MAX_TOKENS: u32 = 65_536;
/// Fewest tokens of a budget for thoughts.
const LEAST_BUDGET: u32 = 1024;

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// With at most this many tokens: at least 1,024 and fewer than `max_tokens`. For models that take a budget.
    Budget(u32),
    /// As it sees fit, with this effort. For models that adapt.
    Effort(ReasoningEffort),
}

/// What a client of Anthropic needs.
#[derive(Clone, Default)]
pub struct AnthropicConfig {
    /// Id of the model, as the provider names it.
    pub model: String,
    /// Address; Anthropic's own when left out. A trailing `/`, `/v1` or `/v1/messages` is taken off.
    pub base_url: Option<String>,
    /// The key, sent as `x-api-key`. Needed for Anthropic's own address.
    pub api_key: Option<Secret>,
    /// Headers beside the usual ones, or in their place.
    pub headers: Vec<(String, Secret)>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Whether requests go through a proxy.
    pub proxy: ProxyChoice,
    /// Most tokens of an answer; 8,192 when left out, 65,536 with thinking.
    pub max_tokens: Option<u32>,
    /// Temperature, 0 to 1; not with thinking.
    pub temperature: Option<f32>,
    /// How the model is told to think; not at all when left out.
    pub thinking: Option<Thinking>,
    /// Leaves out the marks by which the provider caches the beginning of a conversation.
    pub no_cache: bool,
}

impl std::fmt::Debug for AnthropicConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("AnthropicConfig")
            .field("model", &self.model)
            .field("base_url", &config::shown(self.base_url.as_ref()))
            .field("api_key", &self.api_key)
            .field("headers", &self.headers)
            .field("timeouts", &self.timeouts)
            .field("proxy", &self.proxy)
            .field("max_tokens", &self.max_tokens)
            .field("temperature", &self.temperature)
            .field("thinking", &self.thinking)
            .field("no_cache", &self.no_cache)
            .finish()
    }
}

/// A client of Anthropic's Messages interface.
#[derive(Debug)]
pub struct AnthropicClient {
    http: HttpClient,
    settings: Settings,
    thoughts: Memo,
}

/// What requests are built with.
#[derive(Clone, Debug)]
struct Settings {
    model: String,
    max_tokens: u32,
    temperature: Option<f32>,
    thinking: Option<Thinking>,
    cache: bool,
}

impl AnthropicClient {
    /// A client. Opens no connection; for an `https` address it reads the system's certificates.
    ///
    /// # Errors
    /// [`ModelConfigError`] with the field that is wrong or missing.
    pub fn new(config: AnthropicConfig) -> Result<Self, ModelConfigError> {
        config::model(&config.model)?;
        config::max_tokens(config.max_tokens)?;
        config::temperature(config.temperature, 1.0)?;
        config::key_for_default(
            config.base_url.as_ref(),
            config.api_key.as_ref(),
            &config.headers,
            "x-api-key",
        )?;
        let settings = Settings::of(&config)?;
        let base = config.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let key = config.api_key.as_ref();
        let http = HttpClient::new(HttpSettings {
            url: address(config::base_url(base)?),
            headers: config::headers(
                &[
                    ("anthropic-version", "2023-06-01"),
                    ("accept", "text/event-stream, application/json"),
                ],
                &config.headers,
                key.map(|key| (key, "x-api-key", "")),
            )?,
            timeouts: config.timeouts,
            proxy: &config.proxy,
            key,
            configured: &config.headers,
        })?;
        Ok(Self {
            http,
            settings,
            thoughts: Memo::default(),
        })
    }

    async fn ask(&self, request: &LlmRequest, events: &LlmEvents) -> Result<LlmResponse, LlmError> {
        let body = request::body(&self.settings, request, &self.thoughts)?;
        let answer = self.http.post(body).await?;
        stream::read(answer, Answer::new(&self.thoughts), events).await
    }
}

impl Settings {
    fn of(config: &AnthropicConfig) -> Result<Self, ModelConfigError> {
        let thinking = config
            .thinking
            .filter(|thinking| *thinking != Thinking::Effort(ReasoningEffort::None));
        let max_tokens = config.max_tokens.unwrap_or(match thinking {
            Some(Thinking::Budget(budget)) => {
                THINKING_MAX_TOKENS.max(budget.saturating_add(DEFAULT_MAX_TOKENS))
            }
            Some(Thinking::Effort(_)) => THINKING_MAX_TOKENS,
            None => DEFAULT_MAX_TOKENS,
        });
        if let Some(Thinking::Budget(budget)) = thinking
            && (budget < LEAST_BUDGET || budget >= max_tokens)
        {
            let message = format!(
                "must have a budget of {LEAST_BUDGET} or more that is below `max_tokens` ({max_tokens})"
            );
            return Err(ModelConfigError::new("thinking", message));
        }
        if thinking.is_some() && config.temperature.is_some() {
            let message = "cannot be set while the model is to think";
            return Err(ModelConfigError::new("temperature", message));
        }
        Ok(Self {
            model: config.model.clone(),
            max_tokens,
            temperature: config.temperature,
            thinking,
            cache: !config.no_cache,
        })
    }
}

#[async_trait]
impl LlmClient for AnthropicClient {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn structured_support(&self) -> StructuredSupport {
        StructuredSupport::ForcedTool
    }

    async fn complete(
        &self,
        request: &LlmRequest,
        events: LlmEvents,
    ) -> Result<LlmResponse, LlmError> {
        let answered = self.ask(request, &events).await;
        answered.map_err(|error| self.http.masked(error))
    }
}

fn address(mut base: Url) -> Url {
    let path = base.path().trim_end_matches('/');
    let path = path.strip_suffix("/messages").unwrap_or(path);
    let path = path.strip_suffix("/v1").unwrap_or(path);
    base.set_path(&format!("{path}/v1/messages"));
    base
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined() {
        for (base, expected) in [
            (
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (
                "https://x.test/anthropic/",
                "https://x.test/anthropic/v1/messages",
            ),
            ("https://x.test/v1", "https://x.test/v1/messages"),
            (
                "https://x.test/a/v1/messages?k=v",
                "https://x.test/a/v1/messages?k=v",
            ),
        ] {
            let base = config::base_url(base).unwrap();
            assert_eq!(address(base).as_str(), expected);
        }
    }
}
