//! OpenAI's chat completions, and the many servers that speak them: llama.cpp, Ollama, vLLM, gateways.
//!
//! Servers differ in what they leave out and in how they cut calls into pieces; what can be understood is. A server
//! that refuses to say what a stream used is asked again without that, once, and remembered.

mod answer;
mod calls;
mod request;

use super::config::{self, ModelConfigError, ProxyChoice, ReasoningEffort, Timeouts};
use super::http::{HttpClient, HttpSettings};
use super::memo::Memo;
use super::{
    LlmClient, LlmError, LlmEvents, LlmFault, LlmRequest, LlmResponse, Secret, StructuredSupport,
    stream,
};
use answer::Answer;
use async_trait::async_trait;
use reqwest::Url;
use std::sync::atomic::{AtomicBool, Ordering};

/// Address of the provider.
const DEFAULT_BASE: &str = "https://api.openai.com";

/// What a client of chat completions needs.
#[derive(Clone, Default)]
pub struct OpenAiConfig {
    /// Id of the model, as the server names it.
    pub model: String,
    /// Address; OpenAI's own when left out. `/v1/chat/completions` is put after it; only `/chat/completions` when it
    /// ends in another version (`/v4`) or in a version and `/openai`.
    pub base_url: Option<String>,
    /// The key, sent as a bearer token. Needed for OpenAI's own address.
    pub api_key: Option<Secret>,
    /// Headers beside the usual ones, or in their place.
    pub headers: Vec<(String, Secret)>,
    /// How long to wait for what.
    pub timeouts: Timeouts,
    /// Whether requests go through a proxy.
    pub proxy: ProxyChoice,
    /// Most tokens of an answer; the server's own limit when left out.
    pub max_tokens: Option<u32>,
    /// Temperature, 0 to 2.
    pub temperature: Option<f32>,
    /// How much the model is to think; the server's own when left out.
    pub reasoning_effort: Option<ReasoningEffort>,
    /// What the server has for answers of a given form; seen by its address when left out.
    pub structured: Option<StructuredSupport>,
    /// Sends the thoughts of earlier answers back as `reasoning_content`, which some models need between calls.
    pub return_reasoning: bool,
}

impl std::fmt::Debug for OpenAiConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("OpenAiConfig")
            .field("model", &self.model)
            .field("base_url", &config::shown(self.base_url.as_ref()))
            .field("api_key", &self.api_key)
            .field("headers", &self.headers)
            .field("timeouts", &self.timeouts)
            .field("proxy", &self.proxy)
            .field("max_tokens", &self.max_tokens)
            .field("temperature", &self.temperature)
            .field("reasoning_effort", &self.reasoning_effort)
            .field("structured", &self.structured)
            .field("return_reasoning", &self.return_reasoning)
            .finish()
    }
}

/// A client of chat completions.
#[derive(Debug)]
pub struct OpenAiClient {
    http: HttpClient,
    settings: Settings,
    /// What servers want back with a call, by the id of the call.
    extras: Memo,
    /// The server takes no `stream_options`.
    plain_stream: AtomicBool,
}

/// What requests are built with.
#[derive(Clone, Debug)]
struct Settings {
    model: String,
    max_tokens: Option<u32>,
    /// Name of the field for the most tokens.
    max_tokens_field: &'static str,
    temperature: Option<f32>,
    reasoning_effort: Option<ReasoningEffort>,
    return_reasoning: bool,
    structured: StructuredSupport,
}

impl OpenAiClient {
    /// A client. Opens no connection; for an `https` address it reads the system's certificates.
    ///
    /// # Errors
    /// [`ModelConfigError`] with the field that is wrong or missing.
    pub fn new(config: OpenAiConfig) -> Result<Self, ModelConfigError> {
        config::model(&config.model)?;
        config::max_tokens(config.max_tokens)?;
        config::temperature(config.temperature, 2.0)?;
        config::key_for_default(
            config.base_url.as_ref(),
            config.api_key.as_ref(),
            &config.headers,
            "authorization",
        )?;
        let base = config.base_url.as_deref().unwrap_or(DEFAULT_BASE);
        let url = address(config::base_url(base)?);
        let key = config.api_key.as_ref();
        let settings = Settings::of(&config, &url);
        let http = HttpClient::new(HttpSettings {
            url,
            headers: config::headers(
                &[("accept", "text/event-stream, application/json")],
                &config.headers,
                key.map(|key| (key, "authorization", "Bearer ")),
            )?,
            timeouts: config.timeouts,
            proxy: &config.proxy,
            key,
            configured: &config.headers,
        })?;
        Ok(Self {
            http,
            settings,
            extras: Memo::default(),
            plain_stream: AtomicBool::new(false),
        })
    }

    async fn ask(&self, request: &LlmRequest, events: &LlmEvents) -> Result<LlmResponse, LlmError> {
        let with_usage = !self.plain_stream.load(Ordering::Relaxed);
        let body = request::body(&self.settings, request, &self.extras, with_usage)?;
        let answer = match self.http.post(body).await {
            Err(error) if with_usage && refuses_usage(&error) => {
                self.plain_stream.store(true, Ordering::Relaxed);
                let body = request::body(&self.settings, request, &self.extras, false)?;
                self.http.post(body).await?
            }
            answer => answer?,
        };
        let taken = request::call_ids(request);
        stream::read(answer, Answer::new(&self.extras, taken), events).await
    }
}

fn refuses_usage(error: &LlmError) -> bool {
    error.fault == LlmFault::Rejected && error.message.contains("stream_options")
}

impl Settings {
    fn of(config: &OpenAiConfig, url: &Url) -> Self {
        let host = url.host_str().unwrap_or_default();
        let own = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        let seen = match host {
            _ if own => StructuredSupport::JsonSchema,
            "api.deepseek.com" => StructuredSupport::JsonObject,
            _ => StructuredSupport::None,
        };
        Self {
            model: config.model.clone(),
            max_tokens: config.max_tokens,
            // Newer models of the provider refuse the older name, other servers do not know the newer one.
            max_tokens_field: match own {
                true => "max_completion_tokens",
                false => "max_tokens",
            },
            temperature: config.temperature,
            reasoning_effort: config.reasoning_effort,
            return_reasoning: config.return_reasoning,
            structured: config.structured.unwrap_or(seen),
        }
    }
}

#[async_trait]
impl LlmClient for OpenAiClient {
    fn model(&self) -> &str {
        &self.settings.model
    }

    fn structured_support(&self) -> StructuredSupport {
        self.settings.structured
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
    if path.ends_with("/chat/completions") {
        return base;
    }
    let path = path.strip_suffix("/v1").unwrap_or(path);
    let mut segments = path.rsplit('/');
    let last = segments.next().unwrap_or_default();
    let versioned = is_version(last) || last == "openai" && segments.any(is_version);
    let joined = match versioned {
        true => format!("{path}/chat/completions"),
        false => format!("{path}/v1/chat/completions"),
    };
    base.set_path(&joined);
    base
}

/// `v4`, `v1beta`, `v2beta1`.
fn is_version(segment: &str) -> bool {
    let mut rest = segment.strip_prefix('v').unwrap_or_default().chars();
    rest.next().is_some_and(|first| first.is_ascii_digit())
        && rest.all(|character| character.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_joined() {
        for (base, expected) in [
            (
                "http://127.0.0.1:8081",
                "http://127.0.0.1:8081/v1/chat/completions",
            ),
            ("http://x.test/v1/", "http://x.test/v1/chat/completions"),
            (
                "https://x.test/api/v1",
                "https://x.test/api/v1/chat/completions",
            ),
            (
                "https://x.test/api/paas/v4/",
                "https://x.test/api/paas/v4/chat/completions",
            ),
            (
                "https://x.test/v1beta/openai/",
                "https://x.test/v1beta/openai/chat/completions",
            ),
            (
                "https://x.test/openai",
                "https://x.test/openai/v1/chat/completions",
            ),
            (
                "https://x.test/d/gpt/chat/completions?api-version=1",
                "https://x.test/d/gpt/chat/completions?api-version=1",
            ),
        ] {
            let base = config::base_url(base).unwrap();
            assert_eq!(address(base).as_str(), expected);
        }
    }
}
